"""The kinds of files that we read: how one is made, damaged or crafted, and read.

A file is read well if it is refused in a sentence that names it, or if what it gives is
as good as what was saved: finite predictions, and after damage the very same ones.
"""

import io
import json
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from crafting import (
    SCALARS,
    Random,
    container,
    craft,
    damage,
    hostile_pickle,
    tree_text,
)
from modernnca import ModelFileError, ModernNCAClassifier, ModernNCARegressor, load
from modernnca._tree_file import read_tree, write_tree
from modernnca.errors import StoreError, TableError

FAST: dict[str, Any] = {"preset": "fast", "max_epochs": 2, "random_state": 0}
KEY = "the key of the campaign"
Outcome = tuple[str, str]


@dataclass(frozen=True)
class Kind:
    """How files of a kind are made and read.

    `make(folder)` writes a good file and returns its path; `change(content, rng)` gives
    the bytes of a bad one; `read(path)` reads it and returns what it gives, to compare.
    """

    make: Callable[[Path], Path]
    change: Callable[[bytes, Random], bytes]
    read: Callable[[Path], Any]
    refusals: tuple[type[Exception], ...] = (ModelFileError, OSError)
    # Whether all that is accepted must be as it was; of crafted files it may not be.
    same: bool = True
    share: int = 1


# Tables and models.


def table(n_rows: int = 60, seed: int = 0) -> pd.DataFrame:
    """Numbers, text, booleans, dates and gaps."""
    rng = np.random.RandomState(seed)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 400, n_rows), "D")
    frame = pd.DataFrame(
        {
            "size": rng.randn(n_rows),
            "weight": rng.randn(n_rows) * 100,
            "color": rng.choice(["red", "green", "blue"], n_rows),
            "old": rng.rand(n_rows) > 0.5,
            "day": day,
            "same": 1,
        }
    )
    frame.loc[::7, "weight"] = np.nan
    frame.loc[::11, "color"] = None
    return frame


FRAME = table()
LABELS = np.where((FRAME["size"] > 0) ^ (FRAME["color"] == "red"), "yes", "no")
NUMBERS = 5000 + 300 * FRAME["size"].to_numpy()


def _mixed(folder: Path) -> Path:
    model = ModernNCAClassifier(**FAST, n_members=2, config={"baseline_check": False})
    model.fit(FRAME, LABELS, sample_weight=np.linspace(1, 2, len(FRAME)))
    return _saved(model, folder)


def _numbers(folder: Path) -> Path:
    config = {"baseline_check": False, "encoding": "ple"}
    model = ModernNCARegressor(**FAST, n_blocks=1, config=config)
    return _saved(model.fit(FRAME, NUMBERS), folder)


def _nearest(folder: Path) -> Path:
    return _saved(
        ModernNCARegressor(**FAST, members=["knn"]).fit(FRAME, NUMBERS), folder
    )


def _constant(folder: Path) -> Path:
    model = ModernNCAClassifier(**FAST, members=["constant", "forest"])
    return _saved(model.fit(FRAME, LABELS), folder)


def _timed(folder: Path) -> Path:
    model = ModernNCARegressor(
        **FAST, time_column="day", config={"time_features": "both"}
    )
    return _saved(model.fit(FRAME, NUMBERS), folder)


def _wide(folder: Path) -> Path:
    X = np.random.RandomState(0).randn(60, 300)
    model = ModernNCAClassifier(**FAST, config={"baseline_check": False})
    return _saved(model.fit(X, X[:, 0] > 0), folder)


MODELS = {
    "mixed": _mixed,
    "numbers": _numbers,
    "nearest": _nearest,
    "constant": _constant,
    "timed": _timed,
    "wide": _wide,
}


def _saved(model: Any, folder: Path, **options: Any) -> Path:
    path = folder / "model.mnca"
    model.save(path, **options)
    return path


def _signed(folder: Path) -> Path:
    return _saved(ModernNCARegressor(**FAST).fit(FRAME, NUMBERS), folder, key=KEY)


def answers(model: Any) -> Any:
    """All that a model answers: anything that is not finite is a fault."""
    from modernnca.cli.display import describe_training

    wide = model.n_features_in_ == 300
    X = np.random.RandomState(1).randn(9, 300) if wide else table(9, seed=1)
    found = [model.predict(X)]
    if hasattr(model, "classes_"):
        found.append(model.predict_proba(X))
    found += [*model.explain(X, 3), *model.kneighbors(X, 3), model.transform(X)]
    model.preparation_.preprocessor.describe()
    describe_training(model)
    repr(model.fit_report_)
    for part in found:
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            raise NotFiniteError
    return found


class NotFiniteError(Exception):
    """A model answered NaN."""


def _answer(path: Path) -> Any:
    return answers(load(path, device="cpu"))


def _answer_signed(path: Path) -> Any:
    return answers(load(path, device="cpu", key=KEY))


def crafted_tree(content: bytes, rng: Random) -> bytes:
    """The tree of a file with other values, written with a good digest."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_bytes(content)
        write_tree(path, craft(read_tree(path), rng))
        return path.read_bytes()


def crafted_file(content: bytes, rng: Random) -> bytes:
    """A tree with other values; sometimes another header, or another text."""
    kind = rng.rand()
    if kind < 0.1:
        return container(content, rng)
    if kind < 0.14:
        from modernnca import _tree_file

        text = torch.frombuffer(bytearray(tree_text(rng)), dtype=torch.uint8)
        facts = {"kind": "modernnca", "digest": _tree_file._digest({"tree": text})}
        file = io.BytesIO()
        _tree_file._write_tensors(file, {"tree": text}, facts)
        return file.getvalue()
    return crafted_tree(content, rng)


# Checkpoints.


def _fit_resumed(folder: Path, max_epochs: int = 3) -> Any:
    settings = {**FAST, "max_epochs": max_epochs, "n_members": 1, "n_blocks": 0}
    model = ModernNCARegressor(**settings, checkpoint_dir=folder)
    return model.fit(FRAME, NUMBERS)


def _checkpoint(folder: Path) -> Path:
    _fit_resumed(folder)
    return folder / "fit-0.checkpoint"


def _resume(path: Path) -> Any:
    for other in path.parent.glob("finetune*"):
        other.unlink()
    return answers(_fit_resumed(path.parent))


# Methods of the benchmark.


def _peer(name: str, task: str = "binclass", **settings: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from modernnca.lab.peers import peer

        model: Any = peer(name).build(task, seed=0, settings=settings)
        model.fit(FRAME, NUMBERS if task == "regression" else LABELS)
        model.save(folder / "peer.model")
        return folder / "peer.model"

    return make


def _answer_peer(path: Path) -> Any:
    from modernnca.lab.peers.peer_files import load as load_peer

    model = load_peer(path, device="cpu")
    X = table(9, seed=1)
    found = [model.predict(X)]
    if model.task != "regression":
        found.append(model.predict_proba(X))
    if not all(np.isfinite(part).all() for part in found if part.dtype.kind == "f"):
        raise NotFiniteError
    return found


# Searches, stores, studies.


def _hill(settings: dict[str, Any], report: Any) -> float:
    return -((settings["x"] - 2) ** 2)


def _searched(folder: Path) -> list[Any]:
    from modernnca.tune.search import search
    from modernnca.tune.space import Float, Int

    space = {"x": Float(-5, 5), "n": Int(1, 9)}
    found = search(_hill, space, trials=12, storage=folder, start={"x": 0.0, "n": 3})
    return [trial[:5] for trial in found.trials]


def _journal(folder: Path) -> Path:
    _searched(folder)
    return folder / "study.journal"


def _read_journal(path: Path) -> Any:
    return _searched(path.parent)


def crafted_journal(content: bytes, rng: Random) -> bytes:
    """Lines with other values, and digests that match."""
    from modernnca.tune import journal

    lines, digest = [line.partition(b" ")[2] for line in content.splitlines()], ""
    logs = craft([json.loads(line) for line in lines], rng)
    out = b""
    for log in logs:
        text = json.dumps(log).encode()
        digest = journal._digest(digest, text)
        out += digest.encode() + b" " + text + b"\n"
    return out


def _store(folder: Path) -> Path:
    from modernnca.lab.bench.job import Job, Record
    from modernnca.lab.bench.store import Store

    store = Store(folder)
    jobs = [Job("iris", "knn", seed=seed) for seed in range(12)]
    store.plan(jobs)
    for job in jobs:
        scores = {"accuracy": 0.5 + job.seed / 100}
        prediction = np.full((4, 2), job.seed / 12)
        store.append(
            Record(
                job,
                "done",
                task="binclass",
                scores=scores,
                facts={"n_train": 9},
                finished="2026-01-01T00:00:00",
                prediction=prediction,
                truth=np.arange(4),
            )
        )
    return store.file


def _read_store(path: Path) -> Any:
    """Every record that is left is as it was written."""
    from modernnca.lab.bench.store import Store

    store = Store(path.parent)
    store.planned()
    store.frame()
    for record in store.records(arrays=True):
        seed = record.job.seed
        good = record.scores == {"accuracy": 0.5 + seed / 100}
        if not good or not np.array_equal(
            record.prediction, np.full((4, 2), seed / 12)
        ):
            raise AssertionError("another record")
    return "recovered" if store.notes else "whole"


def crafted_store(content: bytes, rng: Random) -> bytes:
    """A record with other values and a digest that matches them."""
    from tempfile import TemporaryDirectory

    from modernnca.lab.bench import store

    with TemporaryDirectory() as folder:
        path = Path(folder) / "records.sqlite"
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as file, file:
            rows = file.execute("SELECT key, record, arrays FROM records").fetchall()
            key, text, arrays = rows[rng.randint(len(rows))]
            fields = json.loads(text)
            if rng.rand() < 0.5:
                fields["job"] = craft(fields["job"], rng)
            else:
                fields["more" if rng.rand() < 0.3 else "facts"] = SCALARS[
                    rng.randint(13)
                ]
            text = json.dumps(fields)
            row = (text, store._digest(text, arrays), key)
            file.execute("UPDATE records SET record=?, digest=? WHERE key=?", row)
        return path.read_bytes()


def _study(folder: Path) -> Path:
    from modernnca.lab.bench.study import FOLDER

    path = folder / "study.toml"
    path.write_bytes((FOLDER / "loss.toml").read_bytes())
    return path


def _read_study(path: Path) -> Any:
    from modernnca.lab.bench.study import read_study

    study = read_study(path)
    study.jobs(["iris"], quick=True)
    return study


def crafted_toml(content: bytes, rng: Random) -> bytes:
    """Other values behind the equal signs."""
    lines = content.decode().splitlines()
    values = ("3", "-1", "nan", '"x"', "[]", "{}", "[[1]]", "true", "[3, 'x']", "1e999")
    for _ in range(rng.randint(1, 3)):
        place = rng.randint(len(lines))
        name, equals, _ = lines[place].partition("=")
        if equals:
            lines[place] = f"{name}= {values[rng.randint(len(values))]}"
        else:
            lines[place] = ("[variants]", "[[full]]", "x = 1", "")[rng.randint(4)]
    return "\n".join(lines).encode()


# Arrays and tables.


def _npy(folder: Path) -> Path:
    np.save(folder / "N.npy", np.arange(60.0).reshape(20, 3))
    return folder / "N.npy"


def _npy_objects(folder: Path) -> Path:
    cells = np.array([["a", 1.5, None], ["b", np.float64(2), "c"]], dtype=object)
    np.save(folder / "C.npy", cells)
    return folder / "C.npy"


def crafted_npy(content: bytes, rng: Random) -> bytes:
    """Another header, or another pickle behind it."""
    file = io.BytesIO()
    shape = ((10**12,), (2**62, 2), (3, 10**9, 0), (-1,), (20, 3), ())[rng.randint(6)]
    descr = ("<f8", "|O", "<U100000000", "|V9", "<c16", "<i8")[rng.randint(6)]
    header = {"descr": descr, "fortran_order": bool(rng.randint(2)), "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + (hostile_pickle(rng) if rng.rand() < 0.7 else content[80:])


def hostile_npy(content: bytes, rng: Random) -> bytes:
    """An array of objects whose pickle is hostile, or damaged."""
    head = content[: content.index(b"\n") + 1]
    if rng.rand() < 0.7:
        return head + hostile_pickle(rng)
    return head + damage(content[len(head) :], rng)


def _read_npy(path: Path) -> Any:
    from modernnca.lab.bench.arrays import load_array

    return load_array(path).tolist()


def _folder(folder: Path) -> Path:
    data = folder / "small"
    data.mkdir()
    FRAME.assign(y=LABELS).to_parquet(data / "data.parquet")
    info = {"name": "small", "task": "binclass", "task_type": "binclass", "target": "y"}
    (data / "info.json").write_text(json.dumps(info))
    parts = np.split(np.random.RandomState(0).permutation(60), [36, 48])
    np.savez(
        data / "splits.npz", **dict(zip(("train", "val", "test"), parts, strict=True))
    )
    return data / "splits.npz"


def _folder_info(folder: Path) -> Path:
    return _folder(folder).with_name("info.json")


def _folder_parquet(folder: Path) -> Path:
    return _folder(folder).with_name("data.parquet")


def _read_folder(path: Path) -> Any:
    from modernnca.lab.bench.readers import read_dataset

    dataset = read_dataset("small", data=path.parent.parent)
    given = dataset.given or {}
    return [len(dataset.y), {part: rows.tolist() for part, rows in given.items()}]


def crafted_json(content: bytes, rng: Random) -> bytes:
    """Another value, or nested without end."""
    if rng.rand() < 0.1:
        return b"[" * 100_000
    return json.dumps(craft(json.loads(content), rng)).encode()


def _csv(folder: Path) -> Path:
    FRAME.assign(y=LABELS).to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def _parquet(folder: Path) -> Path:
    FRAME.assign(y=LABELS).to_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def _read_table(path: Path) -> Any:
    from modernnca.cli.table_files import read_table

    read_table(path)
    return "a table"


def _published(folder: Path) -> Path:
    rows = [
        f"iris,binclass,{method},0.9,0.01,15" for method in ("knn", "svm", "modernnca")
    ]
    from modernnca.lab.bench.published import COLUMNS

    path = folder / "published.csv"
    frame = pd.DataFrame([row.split(",") for row in rows])
    names = ["dataset", "task", "method", "mean", "std", "n"]
    frame.columns = names[: frame.shape[1]]
    for name in COLUMNS:
        if name not in frame:
            frame[name] = ""
    frame[list(COLUMNS)].to_csv(path, index=False)
    return path


def _read_published(path: Path) -> Any:
    from modernnca.lab.bench import published

    published.read_published(path)
    return "scores"


def _kinds() -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for name, make in MODELS.items():
        kinds[f"model {name}, damaged"] = Kind(make, damage, _answer, share=4)
        kinds[f"model {name}, crafted"] = Kind(
            make, crafted_file, _answer, same=False, share=9
        )
    kinds["signed model, damaged"] = Kind(_signed, damage, _answer_signed, share=2)
    kinds["signed model, crafted"] = Kind(
        _signed, crafted_file, _answer_signed, share=3
    )
    values = (ModelFileError, ValueError, OSError)
    kinds["checkpoint, damaged"] = Kind(_checkpoint, damage, _resume, values, share=3)
    kinds["checkpoint, crafted"] = Kind(
        _checkpoint, crafted_file, _resume, values, share=4
    )
    peers = {
        "random-forest": _peer("random-forest", n_estimators=5),
        "knn": _peer("knn"),
        "svm": _peer("svm", "regression"),
        "mlp": _peer("mlp", max_epochs=1, d_layer=16),
        "realmlp": _peer("realmlp", "regression", max_epochs=1),
        "tabr": _peer("tabr", max_epochs=1, d_main=16),
    }
    for name, make in peers.items():
        kinds[f"{name}, damaged"] = Kind(make, damage, _answer_peer, share=1)
        kinds[f"{name}, crafted"] = Kind(
            make, crafted_file, _answer_peer, same=False, share=3
        )
    for name in ("lightgbm", "xgboost", "catboost"):
        rounds = "iterations" if name == "catboost" else "n_estimators"
        make = _peer(name, **{rounds: 3})
        kinds[f"{name}, crafted"] = Kind(
            make, crafted_file, _answer_peer, same=False, share=1
        )
    kinds["tuning journal, damaged"] = Kind(
        _journal, damage, _read_journal, (ValueError, OSError), share=4
    )
    kinds["tuning journal, crafted"] = Kind(
        _journal, crafted_journal, _read_journal, (ValueError,), same=False, share=4
    )
    kinds["benchmark store, damaged"] = Kind(
        _store, damage, _read_store, (StoreError,), same=False, share=4
    )
    kinds["benchmark store, crafted"] = Kind(
        _store, crafted_store, _read_store, (StoreError,), same=False, share=2
    )
    kinds["study file, damaged"] = Kind(
        _study, damage, _read_study, (ValueError,), same=False, share=2
    )
    kinds["study file, crafted"] = Kind(
        _study, crafted_toml, _read_study, (ValueError,), same=False, share=4
    )
    refused = (TableError,)
    kinds["npy array, damaged"] = Kind(_npy, damage, _read_npy, refused, same=False)
    kinds["npy array, crafted"] = Kind(
        _npy, crafted_npy, _read_npy, refused, same=False, share=3
    )
    kinds["npy pickle, crafted"] = Kind(
        _npy_objects, hostile_npy, _read_npy, refused, same=False, share=4
    )
    kinds["splits, damaged"] = Kind(
        _folder, damage, _read_folder, refused, same=False, share=2
    )
    kinds["info.json, damaged"] = Kind(
        _folder_info, damage, _read_folder, refused, same=False
    )
    kinds["info.json, crafted"] = Kind(
        _folder_info, crafted_json, _read_folder, refused, same=False, share=2
    )
    kinds["parquet folder, damaged"] = Kind(
        _folder_parquet, damage, _read_folder, refused, same=False, share=2
    )
    tables = (ValueError, OSError)
    kinds["csv table, damaged"] = Kind(
        _csv, damage, _read_table, tables, same=False, share=2
    )
    kinds["parquet table, damaged"] = Kind(
        _parquet, damage, _read_table, tables, same=False, share=2
    )
    kinds["published scores, damaged"] = Kind(
        _published, damage, _read_published, (ValueError,), same=False
    )
    return kinds


KINDS = _kinds()


def made(kind: str, folder: Path) -> tuple[Path, bytes, Any]:
    """A good file of a kind, its bytes, and what reading it gives."""
    folder.mkdir(parents=True, exist_ok=True)
    path = KINDS[kind].make(folder)
    content = path.read_bytes()
    try:
        expected = KINDS[kind].read(path)
    except ModelFileError as error:
        expected = str(error)
        if "trusted" not in expected:  # a format that is only loaded so
            raise
    path.write_bytes(content)
    return path, content, expected


def run_case(
    kind: str, path: Path, content: bytes, expected: Any, seed: int
) -> Outcome:
    """Write one bad file, read it, and say how that ended."""
    this, rng = KINDS[kind], np.random.RandomState(seed)
    torch.manual_seed(seed)
    try:
        changed = this.change(content, rng)
    except (TypeError, ValueError, KeyError, IndexError, RuntimeError, OverflowError):
        changed = damage(content, rng)  # what cannot be written cannot be crafted
    _clear(path)
    path.write_bytes(changed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = this.read(path)
    except NotFiniteError:
        return "nan", ""
    except this.refusals as error:
        raw = type(error) in (UnicodeDecodeError, UnicodeEncodeError, RecursionError)
        said = " ".join(str(error).split())
        names = str(path) in said or path.name in said or str(path.parent) in said
        return (
            ("raw", repr(error)[:300]) if raw or not names else ("refused", said[:200])
        )
    except BaseException as error:
        return "raw", f"{type(error).__name__}: {error}"[:300]
    if found == "recovered":
        return "recovered", ""
    if _equal(found, expected):
        return "same", ""
    return ("accepted" if not this.same else "other"), ""


def _clear(path: Path) -> None:
    """Remove what an earlier case left beside the file."""
    for other in path.parent.iterdir():
        if other.is_file() and other.name.startswith(
            ("damaged-", "records.sqlite", ".")
        ):
            other.unlink()


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(_equal(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
