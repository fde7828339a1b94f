"""Write the figures of the campaigns into docs/reliability.md.

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
PAGE = HERE.parent / "docs" / "reliability.md"


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


TABLES = {"files": files_table, "kills": kills_table}


def write(page: str) -> str:
    """The page with the figures of all campaigns that were run."""
    for name, table in TABLES.items():
        path = HERE / f"{name}.json"
        if path.exists():
            text = table(json.loads(path.read_text()))
            pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
            page = pattern.sub(lambda m, t=text: f"{m[1]}{t}\n{m[2]}", page)
    return page


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    PAGE.write_text(write(PAGE.read_text()))
