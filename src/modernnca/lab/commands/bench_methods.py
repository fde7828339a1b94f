"""Show the cards of the methods."""

import textwrap

import typer

from modernnca.lab.peers import PEERS, peer

_WIDTH = 88


def methods() -> None:
    """List the methods that can be run, with their papers and what runs."""
    for name in PEERS:
        card = peer(name)
        typer.echo(f"{name}: {card.title} ({card.paper})")
        said = [f"Runs {card.source}."]
        if card.differs:
            said.append(f"Differs: {card.differs}.")
        if "regression" not in card.tasks:
            said.append("Classification only.")
        if card.extra:
            said.append(f'Needs pip install "modernnca[{card.extra}]".')
        typer.echo(textwrap.indent(textwrap.fill(" ".join(said), _WIDTH - 4), "    "))
