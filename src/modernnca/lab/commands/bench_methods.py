"""The command `modernnca bench methods`: describe the methods."""

import textwrap

import typer

from modernnca.lab.peers import PEERS, peer

_WIDTH = 88


def methods() -> None:
    """List the available methods with their papers and implementations."""
    for name in PEERS:
        card = peer(name)
        typer.echo(f"{name}: {card.title} ({card.paper})")
        sentences = [f"Runs {card.source}."]
        if card.differs:
            sentences.append(f"Differs: {card.differs}.")
        if "regression" not in card.tasks:
            sentences.append("Classification only.")
        if card.extra:
            sentences.append(f'Needs pip install "modernnca[{card.extra}]".')
        text = textwrap.fill(" ".join(sentences), _WIDTH - 4)
        typer.echo(textwrap.indent(text, "    "))
