"""List the studies there are."""

from modernnca.cli.display import new_table, printable
from modernnca.cli.display import show as show_table
from modernnca.lab.bench.study import read_study, study_names


def show() -> None:
    """List the studies: what each asks, and which part of the paper it runs again."""
    table = new_table("study", "paper", "asks", "variants")
    for name in study_names():
        study = read_study(name)
        words = (name, study.paper or "ours", study.asks, str(len(study.variants)))
        table.add_row(*map(printable, words))
    show_table(table)
