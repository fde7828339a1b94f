"""`pip install modernnca` alone: the first example of the README needs no extra."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# The names of modules that differ from those of their distributions.
_MODULES = {"scikit-learn": "sklearn", "xgboost-cpu": "xgboost"}
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def modules(requirements):
    names = (re.match(r"[\w-]+", each)[0] for each in requirements)
    return {_MODULES.get(name, name) for name in names}


def test_the_first_example_of_the_readme_needs_no_extra(tmp_path):
    extras = PROJECT["optional-dependencies"].values()
    absent = set().union(*map(modules, extras)) - modules(PROJECT["dependencies"])
    absent -= {"filelock", "jinja2", "modernnca", "triton"}  # torch brings these
    assert {"pandas", "pyarrow", "typer", "polars"} <= absent
    example = re.search(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S
    )
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(absent=absent) + example[1]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "wine.mnca").exists()
