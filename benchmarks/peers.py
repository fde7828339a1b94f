"""Do the peers reach their published scores? With their defaults, on twelve tables.

    python benchmarks/peers.py run --data DIR --store DIR [--methods a;b] [--seeds 1]
    python benchmarks/peers.py report [--store DIR ...] --published FILE

The tables have the split of the published scores, whose means are in FILE (dataset,
task, method, mean, std): tuned methods, 15 seeds. Ours are not tuned, and none of the
tables was looked at when the defaults of the peers were chosen. `report` writes
peers.csv (one line for each fit; without a store it is only read) and peers.md beside
this file.
"""

import argparse
from pathlib import Path

import pandas as pd

from fits import main, records_of
from modernnca.lab.bench.job import Job
from modernnca.lab.bench.published import read_published
from modernnca.lab.peers import PEERS, peer

HERE = Path(__file__).parent
TABLES = {
    "pc3": "binclass",
    "pc4": "binclass",
    "sylvine": "binclass",
    "mammography": "binclass",
    "PhishingWebsites": "binclass",
    "page-blocks": "multiclass",
    "wine-quality-white": "multiclass",
    "delta_elevators": "regression",
    "Brazilian_houses_reproduced": "regression",
    "pol_reg": "regression",
    "BNG(echoMonths)": "regression",
    "houses": "regression",
}
PUBLISHED_NAMES = {"ft-t": "ftt", "mlp-plr": "mlp_plr", "random-forest": "RandomForest"}
PUBLISHED_NAMES |= {
    "dcnv2": "dcn2",
    "modernnca-paper": "modernNCA",
    "modernnca": "modernNCA",
}


def jobs(asked: argparse.Namespace) -> list[Job]:
    """All fits, in the order in which they are run."""
    methods = asked.methods.split(";") if asked.methods else list(PEERS)
    tables = asked.tables.split(",") if asked.tables else list(TABLES)
    return [
        Job(table, method, seed=seed)
        for seed in range(asked.seeds)
        for table in tables
        for method in methods
        if TABLES[table] in peer(method).tasks
    ]


def lines_of(stores: list[Path]) -> pd.DataFrame:
    """One line for each fit of the stores."""
    lines = pd.DataFrame(
        {
            "dataset": record.job.dataset,
            "method": record.job.method,
            "seed": record.job.seed,
            "accuracy": record.scores.get("accuracy"),
            "rmse": record.scores.get("rmse"),
            "fit_seconds": record.facts.get("fit_seconds"),
            "status": record.status,
            "machine": record.provenance.get("gpu") or "CPU",
        }
        for record in records_of(stores)
        if record.job.dataset in TABLES and record.job.settings == "{}"
    )
    return lines.sort_values(["dataset", "method", "seed"])


def report(asked: argparse.Namespace) -> None:
    """Write our errors over the published ones."""
    if asked.store:
        lines = lines_of(asked.store)
        lines.to_csv(HERE / "peers.csv", index=False, float_format="%.6g")
    lines = pd.read_csv(HERE / "peers.csv")
    error = (1 - lines["accuracy"]).fillna(lines["rmse"])
    ours = error.groupby([lines["dataset"], lines["method"]]).mean().unstack()
    known = read_published(asked.published)
    known = known[known["dataset"].isin(TABLES)]
    loss = (1 - known["mean"]).where(known["higher"], known["mean"])
    theirs = loss.groupby([known["dataset"], known["method"]]).mean().unstack()
    constant = theirs["dummy"]
    text = [
        *("# Peers with their defaults, and their published scores", ""),
        "Errors or RMSEs of our implementations with default settings, over the "
        "published ones of tuned methods; 1.05 is 5 % worse. Written by "
        "`python benchmarks/peers.py report`.",
        "",
    ]
    tables = [name for name in TABLES if name in ours.index]
    text += ["| method | median | " + " | ".join(tables) + " |"]
    text += ["| --- " * (len(tables) + 2) + "|"]
    for method in PEERS:
        if method not in ours:
            continue
        published = theirs.get(PUBLISHED_NAMES.get(method, method))
        if published is None:
            continue
        ratio = (ours[method] / published).reindex(tables)
        cells = " | ".join("" if pd.isna(r) else f"{r:.2f}" for r in ratio)
        text.append(f"| {method} | {ratio.median():.3f} | {cells} |")
    text += ["", "The errors or RMSEs themselves, and those of the best constant:", ""]
    text += ["| method | " + " | ".join(tables) + " |"]
    text += ["| --- " * (len(tables) + 1) + "|"]
    for method in [*(name for name in PEERS if name in ours), "constant"]:
        values = constant if method == "constant" else ours[method]
        cells = " | ".join(
            "" if pd.isna(value) else f"{value:.4g}" for value in values.reindex(tables)
        )
        text.append(f"| {method} | {cells} |")
    (HERE / "peers.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main(__doc__, jobs, report)
