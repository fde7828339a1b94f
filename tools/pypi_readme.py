"""The README as PyPI shows it: its links lead to the project's home.

A hook of hatchling, which builds the package. Links to files become links below the
URL `Source` of `[project.urls]`; without one they become plain text, and pictures are
left out.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#)([^)\s]+)\)")


def with_absolute_links(text: str, source: str | None) -> str:
    """Markdown whose links to files of the project lead below the URL `source`.

    >>> with_absolute_links("[guide](docs/guide.md)", "https://example.org/home")
    '[guide](https://example.org/home/blob/main/docs/guide.md)'
    >>> with_absolute_links("![a picture](docs/a.png)See the [guide](guide.md).", None)
    'See the guide.'
    """

    def absolute(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if source is None:
            return "" if picture else words
        place = "raw" if picture else "blob"
        return f"{picture}[{words}]({source.rstrip('/')}/{place}/main/{target})"

    return _LINK.sub(absolute, text)


class ReadmeHook(MetadataHookInterface):
    """Sets the readme of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read README.md, and make its links absolute."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(text, source),
        }
