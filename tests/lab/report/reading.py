"""A page opened as a reader has it, and what must be true of every page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def opened(browser: Any, path: Path) -> Iterator[Any]:
    """The page, off-line; nothing may go wrong in it, and it asks for nothing else."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url[:5] == "data:" else wrong.append(asked.url),
    )
    page.goto(path.as_uri())
    yield page
    assert wrong == [path.as_uri()]
    context.close()


def check_names(page: Any) -> None:
    """A screen reader finds a name for everything, and no id stands twice."""
    unnamed = page.locator("button, input, select, [role=region]").evaluate_all(
        """parts => parts.filter(part => !(part.textContent.trim() ||
           part.getAttribute("aria-label") || (part.labels && part.labels.length)))
           .map(part => part.outerHTML)"""
    )
    assert unnamed == []
    ids = page.locator("[id]").evaluate_all("parts => parts.map(part => part.id)")
    assert len(ids) == len(set(ids))
