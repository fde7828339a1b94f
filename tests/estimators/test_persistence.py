"""Model files: whole or not there, the same answers back, and never code."""

import contextlib
import json
import os
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from safetensors.torch import load as read_safetensors
from sklearn.base import clone
from tests.estimators.models import classifier, regressor
from tests.estimators.tables import classes_of, mixed_table, numbers_of

import modernnca
from modernnca import ModelFileError, _tree_file, load
from modernnca._tree_file import read_tree, write_tree
from modernnca.estimators.persistence import ESTIMATORS

FRAME = mixed_table(60)
LABELS = classes_of(FRAME)
QUICK = {"max_epochs": 2, "random_state": 0}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.mnca"
    classifier(**QUICK, dim=8).fit(FRAME, LABELS).save(path)
    return path


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_model_comes_back_as_it_was(name, tmp_path):
    model = ESTIMATORS[name](**QUICK, dim=8)
    y = numbers_of(FRAME) if name.endswith("Regressor") else LABELS
    model.fit(FRAME, y, sample_weight=np.linspace(1, 2, 60))
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.predict(FRAME), model.predict(FRAME))
    assert np.array_equal(again.transform(FRAME), model.transform(FRAME))
    for one, two in zip(again.explain(FRAME), model.explain(FRAME), strict=True):
        assert np.array_equal(one, two)
    assert str(again.history_) == str(model.history_)  # NaN is not itself
    assert again.config_ == model.config_
    assert list(again.feature_names_in_) == list(FRAME.columns)
    if name.endswith("Classifier"):
        assert np.array_equal(again.classes_, model.classes_)
        assert again.classes_.dtype == model.classes_.dtype


def test_the_raw_rows_come_back_too(saved):
    again = load(saved)
    origin, columns = again.rows_.index, again.rows_.table.columns
    np.testing.assert_array_equal(columns["size"], FRAME["size"].iloc[origin])
    kept = FRAME["color"].iloc[origin].astype(object).where(lambda c: c.notna(), None)
    assert columns["color"].tolist() == kept.tolist()
    np.testing.assert_array_equal(columns["day"], FRAME["day"].iloc[origin])


def test_without_rows_no_raw_value_is_in_the_file(tmp_path):
    frame = FRAME.assign(size=np.arange(60) + 0.123456789)
    model = classifier(**QUICK).fit(frame, LABELS)
    model.save(tmp_path / "with.mnca")
    model.save(tmp_path / "without.mnca", rows=False)
    needle = np.float64(17.123456789).tobytes()
    assert needle in (tmp_path / "with.mnca").read_bytes()
    assert needle not in (tmp_path / "without.mnca").read_bytes()
    again = load(tmp_path / "without.mnca")
    assert again.rows_.table.columns == {}
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    again.save(tmp_path / "again.mnca")
    assert load(tmp_path / "again.mnca").rows_.table.columns == {}


def test_several_members_come_back(tmp_path):
    model = regressor(**QUICK, n_members=2, encoding="ple", n_blocks=1)
    model.fit(FRAME, numbers_of(FRAME)).save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert np.array_equal(again.predict(FRAME), model.predict(FRAME))


def test_arguments_that_are_code_stay_out(tmp_path):
    model = classifier(**QUICK, callbacks=[print], eval_metric=lambda y, p: 0.0).fit(
        FRAME, LABELS
    )
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.callbacks is None
    assert again.eval_metric is None
    assert again.config_.eval_metric is None


def test_the_file_is_plain_safetensors_with_json(saved):
    tensors = read_safetensors(saved.read_bytes())
    assert all(isinstance(tensor, torch.Tensor) for tensor in tensors.values())
    assert isinstance(json.loads(tensors["tree"].numpy().tobytes()), dict)


def test_a_truncated_file_is_refused(saved):
    content = saved.read_bytes()
    for n in (0, 5, 100, len(content) // 2, len(content) - 1):
        saved.write_bytes(content[:n])
        with pytest.raises(ModelFileError) as caught:
            load(saved)
        assert str(caught.value) == (
            f"{str(saved)!r} is not a model file of modernnca, or it is cut short."
        )


def test_a_damaged_file_is_refused(saved):
    content = bytearray(saved.read_bytes())
    content[-3] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load(saved)
    assert str(caught.value) == (
        f"{str(saved)!r} is damaged: its content does not match its digest. "
        "Take another copy of the file, or save the model again."
    )


def test_every_flipped_byte_is_found_or_harmless(saved):
    content = saved.read_bytes()
    rng = np.random.RandomState(0)
    expected = load(saved).predict_proba(FRAME)
    for place in rng.randint(0, len(content), 60):
        broken = bytearray(content)
        broken[place] ^= 1 << rng.randint(8)
        saved.write_bytes(broken)
        with contextlib.suppress(ModelFileError):
            assert np.array_equal(load(saved).predict_proba(FRAME), expected)


def test_a_file_in_another_format_says_so(saved):
    tree = read_tree(saved)
    write_tree(saved, {**tree, "format": 99, "version": "7.0"})
    with pytest.raises(ModelFileError) as caught:
        load(saved)
    assert str(caught.value) == (
        f"{str(saved)!r} was written by modernnca 7.0, in another format than this "
        f"modernnca {modernnca.__version__} reads; update modernnca."
    )


class Bomb:
    """Pickled, it would leave a file behind when loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_a_hostile_file_runs_no_code(tmp_path, saved):
    trace = tmp_path / "trace"
    hostile = tmp_path / "hostile.mnca"
    hostile.write_bytes(pickle.dumps(Bomb(trace)))
    with pytest.raises(ModelFileError):
        load(hostile)
    torch.save(Bomb(trace), hostile)
    with pytest.raises(ModelFileError):
        load(hostile)
    assert not trace.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"estimator": "os.system"},
        {"estimator": "Pipeline"},
        {"params": {"callbacks": "os.system", "nonsense": 1}},
        {"config": {"dim": 3, "evil": "x"}},
        {"config": {"dim": 0}},
        {"index": None},
        {"index": np.arange(3)},
        {"preparation": {"preprocessor": {}}},
        {"preparation": {"target": {"classes": [1, 2], "dtype": "object; import os"}}},
        {"ensemble": {"members": []}},
        {"ensemble": {"members": [{}]}},
        {"ensemble": {"members": [{"kind": "os.system"}]}},
        {"ensemble": {"weights": [1.0]}},
        {"ensemble": {"weights": [-1.0, 1.0, 1.0, 0.0, 0.0]}},
        {"ensemble": {"weights": [float("nan")] * 5}},
    ],
    ids=str,
)
def test_a_file_that_describes_nonsense_is_refused(saved, change):
    tree = read_tree(saved)
    for name, value in change.items():
        deep = name in ("preparation", "ensemble")
        tree[name] = {**tree[name], **value} if deep else value
    write_tree(saved, tree)
    with pytest.raises(ModelFileError, match="does not describe a model"):
        load(saved)


def test_a_file_cannot_ask_for_memory_that_it_does_not_hold(saved):
    tree = read_tree(saved)
    tree["ensemble"]["members"][0]["config"]["dim"] = 10**9
    write_tree(saved, tree)
    with pytest.raises(ModelFileError, match="does not describe a model"):
        load(saved)


FULL_DISK = """
import resource, sys
import numpy as np
from modernnca import ModernNCARegressor
X = np.random.RandomState(0).randn(300, 4)
model = ModernNCARegressor(max_epochs=1, random_state=0).fit(X, X[:, 0])
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    model.save(sys.argv[1])
except OSError as error:
    print("OSError", error.errno)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX limits")
def test_no_room_on_the_disk_leaves_the_old_file(saved):
    before = saved.read_bytes()
    output = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(saved)],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    ).stdout
    assert output.startswith("OSError")
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_pickle_and_clone_work_too():
    model = classifier(**QUICK).fit(FRAME, LABELS)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    fresh = clone(model)
    assert not hasattr(fresh, "members_")
    assert fresh.get_params() == model.get_params()


def test_a_file_that_is_not_there_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.mnca")


TEXT_ONLY = np.random.RandomState(0).choice(list("abc"), (60, 3)).astype(object)


@pytest.mark.parametrize(
    "X",
    [TEXT_ONLY, np.arange(60.0)[:, None], np.ones((60, 2))],
    ids=["no numbers", "one number", "nothing"],
)
@pytest.mark.parametrize("transform", ["standard", "squashed", "quantile"])
def test_tables_of_any_columns_are_saved(X, transform, tmp_path):
    model = classifier(**QUICK, numeric_transform=transform, n_members=1).fit(X, LABELS)
    model.save(tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict(X), model.predict(X))


def test_a_tree_may_be_larger_than_a_header_of_safetensors(tmp_path):
    """A header ends at 100 MB; text of rows and levels does not."""
    tree = {"levels": ["x" * 2**20] * 101}
    write_tree(tmp_path / "large", tree)
    assert read_tree(tmp_path / "large") == tree


def test_empty_and_strided_arrays_come_back(tmp_path):
    arrays = {
        "none": np.empty(0),
        "no columns": np.empty((3, 0)),
        "one of five": np.arange(5.0)[:, None][2],
        "turned": np.arange(6).reshape(2, 3).T,
    }
    write_tree(tmp_path / "m", arrays)
    for name, found in read_tree(tmp_path / "m").items():
        assert np.array_equal(found.numpy(), arrays[name])
        assert found.shape == arrays[name].shape


def test_six_saves_of_one_model_are_the_same_bytes(saved):
    model, contents = load(saved), set()
    for _ in range(6):
        model.save(saved, key="secret")
        contents.add(saved.read_bytes())
    assert len(contents) == 1


def test_a_signed_file_is_loaded_with_its_key_or_without(saved):
    model = load(saved)
    for key in ("secret", b"\x00\xff"):
        model.save(saved, key=key)
        for again in (load(saved, key=key), load(saved)):
            assert np.array_equal(again.predict(FRAME), model.predict(FRAME))


def test_only_the_key_tells_that_a_file_was_changed(saved):
    load(saved).save(saved, key="secret")
    tree = read_tree(saved)
    tree["calibration"] = {"power": 3.0, "floor": 0.0}
    write_tree(saved, tree, key="guessed")
    assert load(saved).calibration_.power == 3.0
    with pytest.raises(ModelFileError, match="does not match its signature"):
        load(saved, key="secret")
    with pytest.raises(ValueError, match="key must not be empty"):
        load(saved).save(saved, key="")
    write_tree(saved, tree)
    with pytest.raises(ModelFileError, match="is not signed; load it without a key"):
        load(saved, key="secret")


TEXTS = {
    "a deep nest": b"[" * 100_000,
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "a list": b"[]",
    "a bare dict": b'{"format": 1}',
    "an unknown tensor": b'{"__tensor__": "99"}',
    "a list as a name": b'{"__dict__": [[[], 1]]}',
    "a name twice": b'{"__dict__": [["a", 1], ["a", 2]]}',
    "a long number": b"9" * 10_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_in_the_place_of_the_tree_is_refused(text, saved):
    tensors = {"tree": torch.frombuffer(bytearray(text), dtype=torch.uint8)}
    facts = {"kind": "modernnca", "digest": _tree_file._digest(tensors)}
    with saved.open("wb") as file:
        _tree_file._write_tensors(file, tensors, facts)
    with pytest.raises(ModelFileError, match="does not describe a model"):
        load(saved)


PART = b'"tree": {"dtype": "%s", "shape": [2], "data_offsets": [0, 2]}'
HEADERS = {
    "a deep nest": b"[" * 100_000,
    "a list": b"[]",
    "a number": b"3",
    "no facts": b"{}",
    "a part that is a number": b'{"__metadata__": {}, "tree": 3}',
    "no digest": b'{"__metadata__": {}, %s}' % (PART % b"U8"),
    "an unknown dtype": b'{"__metadata__": {"digest": "", "signature": ""}, %s}'
    % (PART % b"F8_E5M2"),
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_any_header_is_refused_in_a_sentence(header, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"{}")
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(path, key="secret")


def test_a_file_longer_than_it_says_is_refused_unread(saved):
    os.truncate(saved, 2**40)
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(saved)


def test_an_array_without_numbers_has_no_more_rows_than_the_file_has_bytes(tmp_path):
    write_tree(tmp_path / "m", {"a": torch.empty(10**15, 0)})
    with pytest.raises(ModelFileError, match="is not a model file"):
        read_tree(tmp_path / "m")


def test_an_array_that_the_tree_does_not_name_is_refused(tmp_path):
    text = torch.frombuffer(bytearray(b'{"__dict__": []}'), dtype=torch.uint8)
    tensors = {"0": torch.zeros(3), "tree": text}
    facts = {"kind": "modernnca", "digest": _tree_file._digest(tensors)}
    with (tmp_path / "m").open("wb") as file:
        _tree_file._write_tensors(file, tensors, facts)
    with pytest.raises(ModelFileError, match="does not name each of its arrays"):
        read_tree(tmp_path / "m")


def test_an_array_stands_at_one_place(saved):
    """Or a small file could name a large array a million times."""
    part = torch.zeros(3)
    text = b'[{"__tensor__": "0"}, {"__tensor__": "0"}]'
    tensors = {"0": part, "tree": torch.frombuffer(bytearray(text), dtype=torch.uint8)}
    facts = {"kind": "modernnca", "digest": _tree_file._digest(tensors)}
    with saved.open("wb") as file:
        _tree_file._write_tensors(file, tensors, facts)
    with pytest.raises(ModelFileError, match="does not describe a model"):
        load(saved)


def deep(tree, path, value):
    *parents, last = path
    for name in parents:
        tree = tree[name]
    tree[last] = value(tree[last]) if callable(value) else value


MEMBER = ("ensemble", "members", 0)
NUMERIC = ("preparation", "preprocessor", "numeric")
CHANGES = {
    "NaN weights": ((*MEMBER, "weights", "linear.bias"), lambda t: t * np.nan),
    "double weights": ((*MEMBER, "weights", "linear.bias"), lambda t: t.double()),
    "half keys": ((*MEMBER, "keys"), lambda t: t.half()),
    "NaN keys": ((*MEMBER, "keys"), lambda t: t / 0),
    "fewer keys": ((*MEMBER, "keys"), lambda t: t[:-1]),
    "keys of another width": ((*MEMBER, "keys"), lambda t: t[:, :-1]),
    "a million blocks": ((*MEMBER, "config", "n_blocks"), 10**6),
    "a huge number": ((*MEMBER, "config", "dim"), 10**400),
    "a million frequencies": ((*MEMBER, "config", "n_frequencies"), 10**6),
    "another shape of rows": ((*MEMBER, "shape", 0), 9),
    "no cooling": ((*MEMBER, "cooling"), 0),
    "a negative cooling": ((*MEMBER, "cooling"), -1.0),  # far rows would vote most
    "no temperature": ((*MEMBER, "weights", "log_temperature"), lambda t: t - 1e4),
    "another width of values": (
        ("ensemble", "remembered", "values"),
        lambda t: torch.cat([t, t], 1),
    ),
    "values beyond shares": (("ensemble", "remembered", "values"), lambda t: -t),
    "negative weights": (("ensemble", "remembered", "weights"), -torch.ones(60)),
    "zero weights": (("ensemble", "remembered", "weights"), torch.zeros(60)),
    "NaN weights of rows": (("weights",), torch.full((60,), np.nan).double()),
    "a negative outlier threshold": (("ensemble", "outlier_threshold"), -1.0),
    "a wide dtype": (("preparation", "target", "dtype"), "<U100000000"),
    "classes twice": (("preparation", "target", "classes"), ["no", "no"]),
    "a zero deviation": ((*NUMERIC, "std_"), lambda t: t * 0),
    "fewer columns": ((*NUMERIC, "mean_"), lambda t: t[:-1]),
    "single precision": ((*NUMERIC, "fill_"), lambda t: t.float()),
    "a calibration without power": (("calibration", "power"), 0.0),
    "a floor above one": (("calibration", "floor"), 2.0),
    "epochs of nobody": (("best_epochs",), [3, 3]),
    "rows of nobody": (("rows", "columns", "size", "numbers"), torch.zeros(3).double()),
    "unknown levels": (("rows", "columns", "color", "codes"), lambda t: t + 9),
    "float rows": (("index",), lambda t: t.double()),
    "another number of columns": (("columns", "n"), 3),
    "half a width": (("n_features_out",), 32.0),
    "a width beyond memory": (("n_features_out",), 10**12),
    "a baseline that is none": (("baseline",), "network"),
    "a member as the score": (("validation_score",), {"kind": "network"}),
    "a score beyond all numbers": (("history", 0, 3), 10**400),
    "endings of nobody": (
        ("ended",),
        lambda ended: {f"{n}": 0 for n in range(len(ended))},
    ),
    "text for seconds": (("report", "seconds"), "long"),
    "a number left out": (("report", "left_out"), [3]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_file_declares_is_checked_before_it_is_built(change, saved):
    tree = read_tree(saved)
    deep(tree, *change)
    write_tree(saved, tree)
    began = time.monotonic()
    with pytest.raises(ModelFileError, match="does not describe a model"):
        load(saved)
    assert time.monotonic() - began < 5


def test_a_row_of_a_regressor_votes_with_one_number(tmp_path):
    """Of a second one, no prediction would tell."""
    path = tmp_path / "m"
    regressor(**QUICK, dim=8).fit(FRAME, numbers_of(FRAME)).save(path)
    tree = read_tree(path)
    deep(tree, ("ensemble", "remembered", "values"), lambda t: torch.cat([t, t], 1))
    write_tree(path, tree)
    with pytest.raises(ModelFileError, match="values has the shape"):
        load(path)
