"""Kill and interrupt fits, saves, searches and benchmarks at any moment.

    python reliability/kills.py --runs 100 --write reliability/kills.json

Each run starts in a process of its own, gets its signal at a random moment, and then
runs again undisturbed. Afterwards nothing may be lost and nothing falsified: a fit
resumes to the same model bit by bit, a file is the old or the new one, a search has the
trials it would have had, a benchmark has each record once and unchanged, and no process
outlives the one that started it.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna  # noqa: F401 - imported once here, and not in every run
import psutil
import torch
import torch._dynamo

from modernnca import ModernNCARegressor, load
from modernnca.execute import Here
from modernnca.lab.bench.runner import Runner, plan
from modernnca.lab.bench.store import Store
from modernnca.lab.peers import peer

RNG = np.random.RandomState(0)
X = RNG.randn(60, 3)
Y = np.sin(2 * X[:, 0]) + X[:, 1]
SMALL: dict[str, Any] = {"n_members": 1, "n_blocks": 0, "random_state": 0}
_MAX_SECONDS = 300  # of a run
_MAX_OUTLIVED = 0.5  # seconds in which the processes of one that died may end
_N_MEASURED = 5  # runs; where others use the machine, one may take much longer
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGINT": signal.SIGINT}


class Operation(NamedTuple):
    """What is disturbed: `prepare` once in a folder, `run`, and what is left of it.

    `check(folder)` describes what is in the folder at any moment, and raises if that is
    nonsense; `result(folder)` runs to the end and returns what must always be the same.
    """

    prepare: Callable[[Path], None]
    run: Callable[[Path], Any]
    check: Callable[[Path], None]
    result: Callable[[Path], Any]


def _nothing(folder: Path) -> None:
    pass


def _no_rest(folder: Path) -> None:
    left = [path.name for path in folder.rglob("*.partial")]
    assert not left, f"left behind: {left}"


def _fit(folder: Path) -> Any:
    config = {"baseline_check": False}
    model = ModernNCARegressor(
        **SMALL, max_epochs=8, checkpoint_dir=folder / "c", config=config
    )
    model.fit(X, Y)
    assert np.isfinite(model.predict(X)).all()
    return model


def _fit_result(folder: Path) -> Any:
    predicted = _fit(folder).predict(X).tolist()
    _no_rest(folder)
    return predicted


def _fit_in_processes(folder: Path) -> Any:
    torch.set_num_threads(2)  # a process for each pair of networks
    x = np.random.RandomState(0).randn(500, 3)
    model = ModernNCARegressor(
        **{**SMALL, "n_members": 4},
        max_epochs=50,
        patience=50,
        config={"baseline_check": False},
    )
    model.fit(x, np.sin(2 * x[:, 0]) + x[:, 1]).save(folder / "model")
    assert np.isfinite(model.predict(X)).all()
    return model


def _whole_or_none(folder: Path) -> None:
    if (folder / "model").exists():
        assert np.isfinite(load(folder / "model").predict(X)).all()


def _fit_in_processes_result(folder: Path) -> Any:
    predicted = _fit_in_processes(folder).predict(X).tolist()
    _no_rest(folder)
    return predicted


def _models(folder: Path) -> None:
    for name, scale in (("one", 1), ("two", 3)):
        model = ModernNCARegressor(**SMALL, max_epochs=1, preset="fast")
        model.fit(X, scale * Y).save(folder / name)
    (folder / "model").write_bytes((folder / "one").read_bytes())
    os.chmod(folder / "model", 0o600)


def _save(folder: Path) -> None:
    models = [load(folder / "two"), load(folder / "one")] * 20
    for model in models:
        model.save(folder / "model")


def _either(folder: Path) -> None:
    found = load(folder / "model").predict(X)
    known = [load(folder / name).predict(X) for name in ("one", "two")]
    assert any(np.array_equal(found, each) for each in known), "another model"
    assert (folder / "model").stat().st_mode & 0o777 == 0o600, "other permissions"


def _save_result(folder: Path) -> Any:
    model = load(folder / "two")
    model.save(folder / "model")
    _no_rest(folder)
    once = (folder / "model").read_bytes()
    model.save(folder / "model")
    assert once == (folder / "model").read_bytes(), "other bytes"
    return load(folder / "model").predict(X).tolist()


def _tune(folder: Path) -> Any:
    model = ModernNCARegressor(**SMALL, preset="fast", max_epochs=1)
    return model.tune(X, Y, trials=4, storage=folder / "trials")


def _tune_result(folder: Path) -> Any:
    model = _tune(folder)
    trials = [(t.place, t.settings, t.score, t.state) for t in model.tuning_]
    return json.loads(json.dumps([trials, model.predict(X).tolist()]))


JOBS = plan(["iris"], ["knn", "svm"], seeds=3)


def _bench(folder: Path) -> None:
    Runner(Store(folder / "store"), Here()).run(JOBS)


def _records(folder: Path) -> dict[str, Any]:
    store = Store(folder / "store")
    assert not store.notes, store.notes
    found = {}
    for record in store.records(arrays=True):
        assert record.status == "done", record.error
        found[record.job.key] = [record.scores, record.prediction.tolist()]
    return found


def _check_records(folder: Path) -> None:
    _records(folder)


def _bench_result(folder: Path) -> Any:
    before = _records(folder)
    _bench(folder)
    after = _records(folder)
    assert all(after[key] == value for key, value in before.items()), "changed"
    assert len(after) == len(JOBS), "lost"
    return json.loads(json.dumps(after, sort_keys=True))


OPERATIONS = {
    "fit": Operation(_nothing, _fit, _nothing, _fit_result),
    "fit in processes": Operation(
        _nothing, _fit_in_processes, _whole_or_none, _fit_in_processes_result
    ),
    "save": Operation(_models, _save, _either, _save_result),
    "tune": Operation(_nothing, _tune, _nothing, _tune_result),
    "bench": Operation(_nothing, _bench, _check_records, _bench_result),
}


def in_child(
    work: Callable[[], Any], kill: tuple[int, float] | None = None
) -> tuple[int, Any]:
    """Run something in a process, maybe with a signal after so many seconds.

    Returns the exit status (negative: the signal) and what came back, or the traceback.
    """
    with tempfile.TemporaryFile("w+") as answer:
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            signal.alarm(_MAX_SECONDS)  # what hangs ends by this signal, as a fault
            signal.signal(signal.SIGINT, signal.default_int_handler)
            torch.set_num_threads(1)
            try:
                text, code = json.dumps(work()), 0
            except KeyboardInterrupt:
                text, code = '"interrupted"', 3
            except BaseException:
                text, code = json.dumps(traceback.format_exc()), 1
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            answer.write(text)
            answer.flush()
            os._exit(code)
        if kill is not None:
            time.sleep(kill[1])
            os.kill(pid, kill[0])
        _, status = os.waitpid(pid, 0)
        if left := _still_running(pid):
            return 1, f"processes that outlived the one that started them: {left}"
        answer.seek(0)
        text = answer.read()
    return os.waitstatus_to_exitcode(status), json.loads(text) if text else None


def _still_running(group: int) -> list[int]:
    """The processes of a group that have not ended after some seconds."""
    deadline = time.monotonic() + _MAX_OUTLIVED
    while True:
        left = []
        for process in psutil.process_iter():
            with suppress(ProcessLookupError, psutil.Error):
                ours = os.getpgid(process.pid) == group
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    left.append(process.pid)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


def disturb(
    operation: Operation,
    number: int,
    rng: random.Random,
    duration: float,
    expected: Any,
) -> tuple[str, str]:
    """Disturb one run; return how it went, and what was wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, said = in_child(lambda: operation.prepare(folder))
        assert code == 0, said
        delay = rng.uniform(0, 1.1 * duration)
        code, said = in_child(
            lambda: operation.run(folder) and None, kill=(number, delay)
        )
        how = {0: "ended by itself", 3: "interrupted"}.get(code, "killed")
        if code not in (0, 3, -number):
            return "fault", f"while disturbed: {said}"
        if number == signal.SIGINT:
            _no_rest(folder)
        code, said = in_child(lambda: operation.check(folder))
        if code:
            return "fault", f"right after: {said}"
        code, found = in_child(lambda: operation.result(folder))
        if code:
            return "fault", f"run again: {found}"
        return (how, "") if found == expected else ("fault", f"another result: {found}")


def main() -> None:
    """Run the campaign; the exit code tells whether there was a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="of each kind and signal")
    parser.add_argument("--only", default="", help=f"of {', '.join(OPERATIONS)}")
    parser.add_argument("--by", default="", help=f"of {', '.join(SIGNALS)}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="write the counts to this file")
    options = parser.parse_args()
    for name in ("knn", "svm"):
        peer(name)
    figures = campaign(
        options.runs, options.only, options.by, options.seed, options.write
    )
    sys.exit(
        any("fault" in counts for of in figures.values() for counts in of.values())
    )


def campaign(
    runs: int, only: str = "", by: str = "", seed: int = 0, write: Path | None = None
) -> dict[str, dict[str, dict[str, int]]]:
    """Disturb every operation by every signal so many times, and count."""
    figures: dict[str, dict[str, dict[str, int]]] = {}
    if write is not None and write.exists():
        figures = json.loads(write.read_text())
    for name, operation in OPERATIONS.items():
        if only and only != name:
            continue
        duration, expected = undisturbed(operation)
        print(f"{name}: {duration:.2f} s undisturbed", flush=True)
        for signal_name, number in SIGNALS.items():
            if by and by != signal_name:
                continue
            rng, counts = random.Random(f"{seed} {name} {signal_name}"), Counter()
            for _ in range(runs):
                how, said = disturb(operation, number, rng, duration, expected)
                counts[how] += 1
                if said:
                    print("FAULT", name, signal_name, said[-1500:], flush=True)
            print(name, signal_name, dict(counts), flush=True)
            figures.setdefault(name, {})[signal_name] = dict(counts)
            if write is not None:
                write.write_text(json.dumps(figures, indent=1) + "\n")
    return figures


def undisturbed(operation: Operation) -> tuple[float, Any]:
    """How long a run takes, the least of a few, and its result."""
    found = [_undisturbed_once(operation) for _ in range(_N_MEASURED)]
    return min(duration for duration, _ in found), found[0][1]


def _undisturbed_once(operation: Operation) -> tuple[float, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        in_child(lambda: operation.prepare(folder))
        began = time.monotonic()
        code, said = in_child(lambda: operation.run(folder) and None)
        assert code == 0, said
        duration = time.monotonic() - began
        code, expected = in_child(lambda: operation.result(folder))
        assert code == 0, expected
        return duration, expected


if __name__ == "__main__":
    main()
