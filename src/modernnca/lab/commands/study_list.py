"""The command `modernnca study list`: list the built-in studies."""

from modernnca.cli.display import new_table, printable, show
from modernnca.lab.bench.study import read_study, study_names


def list_studies() -> None:
    """List the studies: the question of each, and its table or figure in the paper."""
    table = new_table("study", "paper", "question", "variants")
    for name in study_names():
        study = read_study(name)
        cells = (name, study.paper or "ours", study.asks, str(len(study.variants)))
        table.add_row(*map(printable, cells))
    show(table)
