"""Do the peers reach what was published of them? Defaults on twelve tables.

    python benchmarks/peers.py run --data DIR --store DIR [--methods a;b] [--seeds 1]
    python benchmarks/peers.py judge --store DIR [--store DIR ...] --published FILE

The tables have the split that was published with the scores, of which FILE (dataset,
task, method, mean, std) holds the means: of tuned methods, 15 seeds. Ours are untuned.
None of the tables was looked at when the defaults of peers were chosen. `judge` writes
peers.csv (one line for each fit) and peers.md beside this file.
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
ALIKE = {"ft-t": "ftt", "mlp-plr": "mlp_plr", "random-forest": "RandomForest"}
ALIKE |= {"dcnv2": "dcn2", "modernnca-paper": "modernNCA", "modernnca": "modernNCA"}


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


def judge(asked: argparse.Namespace) -> None:
    """Write the gaps between ours and what was published."""
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
        for record in records_of(asked.store)
        if record.job.dataset in TABLES and record.job.settings == "{}"
    ).sort_values(["dataset", "method", "seed"])
    lines.to_csv(HERE / "peers.csv", index=False, float_format="%.6g")
    error = (1 - lines["accuracy"]).fillna(lines["rmse"])
    ours = error.groupby([lines["dataset"], lines["method"]]).mean().unstack()
    told = read_published(asked.published)
    told = told[told["dataset"].isin(TABLES)]
    loss = (1 - told["mean"]).where(told["higher"], told["mean"])
    theirs = loss.groupby([told["dataset"], told["method"]]).mean().unstack()
    constant = theirs["dummy"]
    text = ["# Peers with their defaults, beside published tuned scores", ""]
    text += ["Error or RMSE over the published one, by table; 1.05 is 5 % worse.", ""]
    tables = [name for name in TABLES if name in ours.index]
    text += ["| method | median | " + " | ".join(tables) + " |"]
    text += ["| --- " * (len(tables) + 2) + "|"]
    for method in PEERS:
        if method not in ours:
            continue
        published = theirs.get(ALIKE.get(method, method))
        if published is None:
            continue
        ratio = (ours[method] / published).reindex(tables)
        cells = " | ".join("" if pd.isna(r) else f"{r:.2f}" for r in ratio)
        text.append(f"| {method} | {ratio.median():.3f} | {cells} |")
    text += ["", "Error or RMSE itself, and that of the best constant:", ""]
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
    main(__doc__, jobs, judge)
