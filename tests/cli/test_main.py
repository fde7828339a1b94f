"""The commands as a whole, and the shell as a process."""

import os
import resource
import signal
import subprocess
import sys
from threading import Timer

import pytest
from tests.processes import start

from modernnca import ModernNCARegressor, __version__, load
from modernnca.cli import run
from modernnca.cli.main import COMMANDS

SHELL = [sys.executable, "-m", "modernnca.cli"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def test_the_version_is_said(shell):
    assert shell("--version").stdout == f"modernnca {__version__}\n"


def test_every_command_explains_itself(shell):
    for command, told in COMMANDS.items():
        assert command in shell("--help").stdout
        result = shell(command, "-h")
        assert (result.exit_code, result.stderr) == (0, "")
        assert f"Usage: modernnca {command}" in result.stdout
        assert told in " ".join(result.stdout.split())


def test_what_only_explains_waits_for_no_heavy_import():
    code = "import sys; from modernnca.cli.main import app; print(*sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240
    )
    loaded = told.stdout.split()
    assert "typer" in loaded
    assert not {"torch", "sklearn", "pandas"} & set(loaded)


@pytest.mark.parametrize("package", ["typer", "rich", "pyarrow"])
def test_without_the_extra_one_line_says_what_to_install(package, monkeypatch):
    for name in list(sys.modules):
        if name.startswith(("modernnca.cli.", f"{package}.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == (  # printed by Python itself, with the exit code 1
        "The modernnca shell needs typer, rich and pyarrow: "
        "pip install 'modernnca[cli]'"
    )


def test_another_failed_import_is_not_hidden(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["modernnca", "demo"])
    monkeypatch.setitem(sys.modules, "modernnca.cli.demo", None)
    with pytest.raises(ImportError, match=r"modernnca\.cli\.demo"):
        run()


def test_a_file_may_have_the_name_of_an_option(shell):
    told = shell("info", "--", "-h")
    assert told.exit_code == 1
    assert "There is no file '-h'" in told.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_fit_and_the_model_is_saved(tmp_path, shop, number):
    out = tmp_path / "m.mnca"
    words = ["fit", str(shop), "-t", "spent", "-o", str(out)]
    long = ["--set", "max_epochs=1000000", "--set", "patience=inf"]
    with start(
        SHELL + words + long,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        timer = Timer(60, process.kill)  # instead of waiting for ever
        timer.start()
        seen = b""
        while b"loss " not in seen:  # the bar, after an epoch
            part = process.stderr.read1()
            assert part, seen
            seen += part
        process.send_signal(number)
        process.stderr.read()
        said = process.stdout.read().decode()
    timer.cancel()
    assert process.returncode == 0
    assert "(interrupted)." in said
    model = load(out)
    assert set(model.ended_) == {"interrupted"}
    assert model.best_epochs_[0] >= 1


def test_signals_while_the_model_is_saved_do_not_lose_it(shell, shop, monkeypatch):
    save = ModernNCARegressor.save

    def interrupted(model, path, **options):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        save(model, path, **options)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ModernNCARegressor, "save", interrupted)
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    words = ("fit", shop, "-t", "spent", "-o", "m.mnca", "--set", "max_epochs=1")
    assert shell(*words, "-q").exit_code == 0
    assert load("m.mnca").baseline_ in (None, "knn", "constant")
    after = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    assert after == before


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_a_full_disk_is_said_in_one_line(
    shell, tmp_path, shop, classifier_file, command
):
    out = tmp_path / "out.csv"
    out.write_text("before")
    words = {
        "fit": ("fit", shop, "-t", "spent", "--set", "max_epochs=1", "--quiet"),
        "predict": ("predict", classifier_file, shop),
    }[command]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        result = shell(*words, "-o", out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.exit_code == 1
    elsewhere = ", nor to the home or temporary folder"
    assert result.stderr.splitlines()[-1] == (
        f"Error: Cannot write {str(out)!r}: File too large"
        f"{elsewhere * (command == 'fit')}; make room, or choose another place with "
        "--out."
    )
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_a_reader_that_leaves_is_no_error(shop, classifier_file):
    words = " ".join([*SHELL, "predict", str(classifier_file), str(shop)])
    done = subprocess.run(
        ["bash", "-c", f"{words} --neighbors 40 | true"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=240,
    )
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
