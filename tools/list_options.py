"""Write the tables of options and presets in docs/config.md from the code itself.

python tools/list_options.py          # rewrites the tables
python tools/list_options.py --check  # fails if they are not up to date
"""

import inspect
import sys
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from modernnca import PRESETS, ModernNCAClassifier, ModernNCAConfig
from modernnca._config import OneOf
from modernnca.core.embeddings import BlockConfig
from modernnca.core.encodings import EncodingConfig
from modernnca.core.network import NetworkConfig
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.learner import MethodConfig
from modernnca.table.preprocessor import PreprocessingConfig
from modernnca.train.loop import TrainingConfig

PAGE = Path(__file__).parents[1] / "docs" / "config.md"
# The dataclasses that declare the options of each section.
SECTIONS: dict[str, tuple[type, ...]] = {
    "Columns": (PreprocessingConfig,),
    "Network": (NetworkConfig, EncodingConfig, BlockConfig),
    "Loss, sampling and vote": (MethodConfig,),
    "Training": (TrainingConfig,),
    "Ensemble and validation": (EnsembleConfig,),
}
# The preset that each preset is shown as a change of.
BASES = {
    "fast": "default",
    "best": "default",
    "paper": "default",
    "linear": "paper",
    "nca-v4": "linear",
    "nca-v3": "nca-v4",
    "nca-v2": "nca-v3",
    "nca-v1": "nca-v2",
    "nca-v0": "nca-v1",
    "tabcon": "paper",
}


def allowed(check: Any) -> str:
    """What an option may be."""
    if isinstance(check, OneOf):
        return ", ".join(f"`{name}`" for name in check.names)
    return str(check)


def options() -> str:
    """A table of options for each section."""
    arguments = inspect.signature(ModernNCAClassifier).parameters
    left = {each.name: each for each in fields(ModernNCAConfig)}
    lines = []
    for title, parts in SECTIONS.items():
        # A class inherits the options of its bases, which may have their own section.
        own = [
            name for name in left if any(name in part.__annotations__ for part in parts)
        ]
        lines += [f"### {title}", "", "| option | default | allowed | meaning |"]
        lines += ["| --- | --- | --- | --- |"]
        for name in own:
            mark = r"\*" if name in arguments else ""
            lines.append(f"| `{name}`{mark} | {_cells(left.pop(name))} |")
        lines.append("")
    assert not left, f"without a section: {', '.join(left)}"
    return "\n".join(lines)


def _cells(each: Field) -> str:
    default, check, text = (
        each.metadata[name] for name in ("default", "check", "text")
    )
    shown = default if isinstance(default, str) else repr(default)
    return f"`{shown}` | {allowed(check)} | {text}"


def presets() -> str:
    """A table of the options that each preset changes in another one."""
    lines = ["| preset | based on | changes |", "| --- | --- | --- |"]
    for name, base in BASES.items():
        changes = ", ".join(
            f"`{option}={value!r}`"
            for option in ModernNCAConfig.names()
            if (value := getattr(PRESETS[name], option))
            != getattr(PRESETS[base], option)
        )
        lines.append(f"| `{name}` | `{base}` | {changes} |")
    missing = PRESETS.keys() - BASES.keys() - {"default"}
    assert not missing, f"without a base: {', '.join(missing)}"
    return "\n".join([*lines, ""])


def fill(page: str, name: str, text: str) -> str:
    """The page with fresh text between the two markers of this name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{text}\n{end}{after}"


def fresh_page() -> str:
    """The page with fresh tables."""
    return fill(fill(PAGE.read_text(), "presets", presets()), "options", options())


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(
            fresh_page() != PAGE.read_text() and "run: python tools/list_options.py"
        )
    PAGE.write_text(fresh_page())
