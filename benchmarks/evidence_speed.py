"""How long do explanations and leave-one-out votes of 100,000 remembered rows take?

    OMP_NUM_THREADS=2 python benchmarks/evidence_speed.py run [--rows 100000]
    python benchmarks/evidence_speed.py report

A made-up table of 20 numbers. One network, and the default, each trained for one epoch
on 2,000 rows; the others are remembered as validation rows. What is asked of a fitted
model takes as long, however it was trained. There is no forest, as there is none in a
default that is trained on so many rows. `explain` asks about 1,000 rows with 10
neighbors each; what it computes only when it is looked at (columns, importances,
counterfactuals) is measured by itself. `cpu` are the seconds of all cores together,
which say more than the clock on a busy machine; `held` is by how much the peak of the
process's memory rises beyond that of the fit. Each fit adds lines to
evidence_speed.csv; `report` writes evidence_speed.md.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch

from modernnca import ModernNCAClassifier
from opponents import make_table

HERE = Path(__file__).parent
FILE, PAGE = HERE / "evidence_speed.csv", HERE / "evidence_speed.md"
N_QUERIES, N_COLUMNS, N_TRAIN = 1000, 20, 2000
MODELS = {"one network": {"n_members": 1}, "default": {}}
LIMITS = {
    ("one network", "explain"): 2,
    ("default", "explain"): 5,
    ("one network", "loo"): 60,
    ("default", "loo"): 60,
}


def peak() -> float:
    """The peak memory of this process, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if "VmHWM" in line)


def run(asked: argparse.Namespace) -> None:
    """Fit each model, and ask it."""
    x, y = make_table(asked.rows + N_QUERIES, N_COLUMNS, "cpu")
    table = pd.DataFrame(x.numpy(), columns=[f"x{j}" for j in range(N_COLUMNS)])
    queries, y = table[asked.rows :], y.numpy()
    train, rest = slice(N_TRAIN), slice(N_TRAIN, asked.rows)
    for name, options in MODELS.items():
        model = ModernNCAClassifier(
            max_epochs=1,
            random_state=0,
            device="cpu",
            verbose=False,
            config={"finetune": 0.0, "forest_member": False},
            **options,
        ).fit(table[train], y[train], eval_set=(table[rest], y[rest]))
        model.explain(queries[:2])  # warms up
        found: list = []
        steps: dict[str, Callable[[], object]] = {
            "explain": lambda model=model, found=found: found.append(
                model.explain(queries)
            ),
            "columns": lambda found=found: found[0].columns,
            "importances": lambda found=found: found[0].importances,
            "counterfactuals": lambda found=found: found[0].counterfactuals,
            "loo": model.loo,
        }
        for step, ask in steps.items():
            before, begin, cpu = peak(), time.perf_counter(), time.process_time()
            ask()
            seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
            line = {"model": name, "rows": asked.rows, "step": step}
            line |= {"seconds": seconds, "cpu": cpu, "held": peak() - before}
            line |= {"threads": torch.get_num_threads()}
            print(line, flush=True)
            frame = pd.DataFrame([line])
            header = not FILE.exists()
            frame.to_csv(
                FILE, mode="a", header=header, index=False, float_format="%.3f"
            )


def report(asked: argparse.Namespace) -> None:
    """Write the page, from the last run of each."""
    del asked
    lines = pd.read_csv(FILE).drop_duplicates(["model", "rows", "step"], keep="last")
    text = [
        "# What evidence costs",
        "",
        "Written by `python benchmarks/evidence_speed.py report`; its docstring says "
        "what was measured.",
        "",
        "| model | remembered | asked | seconds | of cores | at most, of 100,000 | "
        "MiB more at the peak |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for line in lines.itertuples():
        limit = LIMITS.get((line.model, line.step), "")
        text.append(
            f"| {line.model} | {line.rows:,} | `{line.step}` | {line.seconds:.2f} | "
            f"{line.cpu:.2f} | {limit} | {line.held:.0f} |"
        )
    threads = " and ".join(str(n) for n in sorted(set(lines["threads"])))
    told = f"Threads: {threads}. Of cores: the seconds of all cores together."
    PAGE.write_text("\n".join([*text, "", told, ""]))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="measure")
    running.set_defaults(command=run)
    running.add_argument("--rows", type=int, default=100_000)
    commands.add_parser("report", help="write the page").set_defaults(command=report)
    asked = parser.parse_args()
    asked.command(asked)


if __name__ == "__main__":
    main()
