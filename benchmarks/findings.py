"""Write docs/findings.md from the records that are committed beside this file.

    python benchmarks/findings.py

Records of an earlier definition of a study are named on the page and decide nothing.
`modernnca study all --data DIR --records benchmarks/studies.csv --records
benchmarks/peers.csv` fits what is missing.
"""

import argparse
from pathlib import Path

from modernnca.lab.bench.found import find
from modernnca.lab.bench.published import read_published
from modernnca.lab.bench.record_files import RecordFile
from modernnca.lab.bench.study import read_study, study_names
from modernnca.lab.report.studies import findings_page, gather_studies

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "findings.md"
INTRODUCTION = """# Findings

Which claims of the paper hold? Each claim gets a verdict by the rules in
[studies.md](studies.md#verdicts); an undecided one with scores on six datasets says how
many would decide it. This page is the output of `python benchmarks/findings.py`, from
records that are committed:

- `benchmarks/studies.csv`: the ablations on 15 datasets of TALENT with the published
  split (12 classification, 3 regression), three seeds, default settings;
- `benchmarks/peers.csv`: the main comparison on 12 such datasets, default settings;
- `benchmarks/visualise.csv`: the maps of embeddings, learned from at most 2,000 rows of
  four datasets on a CPU;
- `benchmarks/published.csv`: the published scores of the paper's benchmark, for 300
  datasets.

The fits ran on an H200 and, for small datasets, on a CPU. The paper tuned every
variant, on 27 classification and 18 regression datasets for most ablations. Many
differences between variants are smaller than 15 datasets can show.

Since these fits, the definition of the studies has changed: all methods have [one
protocol](studies.md#the-papers-protocol), every distance its own temperature, and L-NCA
is NCAv4. Records that do not match are counted below as *to be run again*. They decide
nothing; what they said is given as such. A claim without records is *undecided: not
run*.
"""
PICTURE = """![Maps of 1,000 test rows of four tables in the embeddings of raw features,
TabR, M-NCA and TabCon, colored by the target](images/embeddings.png)"""


def page() -> str:
    """The page, from the committed records."""
    names = ("studies.csv", "peers.csv", "visualise.csv")
    files = [RecordFile(HERE / name) for name in names]
    studies = [(s, find(s, files)) for s in map(read_study, study_names())]
    scores = read_published(HERE / "published.csv")
    contents = gather_studies(
        studies, scores=scores, title="Findings", facts={}, draw=False
    )
    head, rest = findings_page(contents).split("\n", 1)
    assert head == "# Findings"
    asks = read_study("visualise").asks
    return INTRODUCTION + rest.replace(asks, f"{asks}\n\n{PICTURE}")


def main() -> None:
    """Write the page."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE}.")


if __name__ == "__main__":
    main()
