"""A small mixed table, models learned from it, and a shell to type into."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
import torch
from typer.testing import CliRunner, Result

from modernnca.cli.main import app

Shell = Callable[..., Result]


def mixed_table(n_rows: int = 90) -> pa.Table:
    """Numbers and text with gaps, codes, dates, booleans, two targets."""
    rng = random.Random(0)
    age = [rng.gauss(40, 10) for _ in range(n_rows)]
    color = [rng.choice(["red", "green", "blue"]) for _ in range(n_rows)]
    bought = [
        "yes" if a + 10 * (c == "red") > 43 else "no"
        for a, c in zip(age, color, strict=True)
    ]
    return pa.table(
        {
            "id": list(range(n_rows)),
            "age": [None if i % 11 == 0 else round(a, 2) for i, a in enumerate(age)],
            "color": [None if i % 13 == 0 else c for i, c in enumerate(color)],
            "zip": [rng.choice(["007", "010", "123"]) for _ in range(n_rows)],
            "joined": [f"2024-{rng.randint(1, 12):02}-05" for _ in range(n_rows)],
            "member": [rng.random() < 0.5 for _ in range(n_rows)],
            "spent": [round(2 * a, 3) for a in age],
            "bought": [None if i % 30 == 0 else b for i, b in enumerate(bought)],
        }
    )


def type_in(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Type a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("MODERNNCA_TRACEBACK", raising=False)
    return type_in


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The mixed table as a file."""
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    pa_csv.write_csv(mixed_table(), path)
    return path


@pytest.fixture(scope="session")
def classifier_file(shop: Path) -> Path:
    out = shop.parent / "bought.mnca"
    result = type_in(
        *("fit", shop, "--target", "bought", "--out", out, "--set", "max_epochs=2"),
        *("--drop", "id", "--drop", "spent", "--categorical", "zip", "--quiet"),
    )
    assert result.exit_code == 0, result.stderr
    return out


@pytest.fixture(scope="session")
def regressor_file(shop: Path) -> Path:
    out = shop.parent / "spent.mnca"
    result = type_in(
        *("fit", shop, "--target", "spent", "--out", out, "--set", "max_epochs=2"),
        *("--drop", "id", "--no-rows", "--quiet"),
    )
    assert result.exit_code == 0, result.stderr
    return out
