"""Write the tables of evidence again, from the records beside the scripts.

    python benchmarks/evidence.py

What each of them measures, and how to run it, is told by the script of its name:
evidence_uncertainty.py, evidence_audit.py, evidence_columns.py, evidence_curves.py and
evidence_speed.py.
"""

import argparse
from importlib import import_module

PARTS = ("uncertainty", "audit", "columns", "curves", "speed")


def main() -> None:
    """Write all pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked = parser.parse_args()
    for part in PARTS:
        import_module(f"evidence_{part}").report(asked)


if __name__ == "__main__":
    main()
