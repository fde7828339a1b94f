"""Write the figures of the campaigns into the pages of docs/ that show them.

    python reliability/report.py

A figure stands between `<!-- files -->`, or another name, and `<!-- end -->`.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PAGES = [DOCS / "reliability.md", DOCS / "reliability_limits.md"]


def files_table(figures: dict[str, Any]) -> str:
    """Cases by kind of file, with how reading them ended."""
    rows: dict[str, Counter] = {}
    for kind, counts in figures["kinds"].items():
        name, _, how = kind.partition(", ")
        group = "model files" if name.startswith("model") else name
        rows.setdefault(f"{group}, {how}", Counter()).update(counts)
    lines = [
        "| files | cases | refused | recovered | as saved | other, valid | faults |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    total: Counter = Counter()
    for counts in rows.values():
        total += counts
    good = ("refused", "recovered", "same", "accepted")
    for name, counts in [*rows.items(), ("**all**", total)]:
        n_cases = sum(counts.values())
        cells = [f"{counts[each]:,}" for each in good]
        faults = n_cases - sum(counts[each] for each in good)
        lines.append(f"| {name} | {n_cases:,} | {' | '.join(cells)} | {faults} |")
    return "\n".join(lines)


def kills_table(figures: dict[str, Any]) -> str:
    """Runs by operation and signal."""
    lines = [
        "| disturbed | signal | runs | ended by it | ended by themselves | faults |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, signals in figures.items():
        for signal, counts in signals.items():
            ended = counts.get("killed", 0) + counts.get("interrupted", 0)
            own, faults = counts.get("ended by itself", 0), counts.get("fault", 0)
            n_runs = sum(counts.values())
            lines.append(
                f"| {name} | {signal} | {n_runs} | {ended} | {own} | {faults} |"
            )
    return "\n".join(lines)


def fuzzed_text(figures: dict[str, Any]) -> str:
    """How the fits of fuzzed tables ended.

    >>> print(fuzzed_text({"tables": 9, "ended": {"sound": 6, "refused": 2, "raw": 1}}))
    Of 9 tables, 6 gave a sound model and 2 were refused
    with a sentence. 0 predicted NaN, 0 could not be saved, 0 were batch-dependent,
    and 1 raised a raw error.
    """
    count = Counter(figures["ended"])
    return (
        f"Of {figures['tables']:,} tables, {count['sound']:,} gave a sound model and "
        f"{count['refused']:,} were refused\nwith a sentence. {count['nan']} predicted "
        f"NaN, {count['unsaved']} could not be saved, {count['batch-dependent']} were "
        f"batch-dependent,\nand {count['raw']} raised a raw error."
    )


TABLES = {"files": files_table, "kills": kills_table, "fuzzed_tables": fuzzed_text}


def write(page: str) -> str:
    """The page with the figures of all campaigns that were run and that it shows."""
    for name, table in TABLES.items():
        path = HERE / f"{name}.json"
        if path.exists():
            text = table(json.loads(path.read_text()))
            pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
            page = pattern.sub(lambda m, t=text: f"{m[1]}{t}\n{m[2]}", page)
    return page


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for each in PAGES:
        each.write_text(write(each.read_text()))
