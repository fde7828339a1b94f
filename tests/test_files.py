"""Files are read only if they are files, and written whole or not at all."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from modernnca import ModelFileError, load
from modernnca._files import read_regular, written_whole
from modernnca._tree_file import read_tree, write_tree
from tests.processes import start

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX files")
TREE = {"a": 1}


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_keeps_its_permissions(mode, tmp_path):
    path = tmp_path / "secret"
    write_tree(path, TREE)
    path.chmod(mode)
    write_tree(path, {"a": 2})
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert read_tree(path) == {"a": 2}


@posix
def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    write_tree(tmp_path / "model", TREE)
    expected = (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "model").stat().st_mode == expected


@posix
def test_a_link_stays_and_what_it_names_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link", tmp_path / "far" / "model"
    link.symlink_to(target)
    for tree in (TREE, {"a": 2}):  # the target is there, or not yet
        write_tree(link, tree)
        assert link.is_symlink()
        assert read_tree(target) == tree


@posix
def test_a_device_or_a_fifo_is_neither_written_nor_read(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path, kind in (
        (fifo, "FIFO"),
        ("/dev/null", "device"),
        ("/dev/zero", "device"),
    ):
        with pytest.raises(OSError, match=rf"is a {kind}, not a file"):
            write_tree(path, TREE)
        with pytest.raises(OSError, match=rf"is a {kind}, not a file"):
            load(path)
        assert not stat.S_ISREG(os.stat(path).st_mode)


def test_a_folder_is_not_read(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        read_regular(tmp_path)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model"
    write_tree(path, TREE)

    def fail():
        with written_whole(path) as file:
            file.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert read_tree(path) == TREE
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


KILLED = """
import os, signal, sys
from modernnca._files import written_whole
with written_whole(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    print("begun", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_what_a_killed_writer_leaves_is_cleared_but_not_that_of_a_live_one(tmp_path):
    path = tmp_path / "model"
    (tmp_path / ".model.mine.partial").write_text("the user's own")
    command = [sys.executable, "-c", KILLED, str(path)]
    writer = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "begun\n"
    write_tree(path, TREE)
    assert len(list(tmp_path.glob(".model.????????.partial"))) == 1
    writer.communicate(timeout=60)
    write_tree(path, TREE)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".model.mine.partial",
        "model",
    ]


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("ä" * 120)
    write_tree(path, TREE)
    assert read_tree(path) == TREE


@pytest.mark.parametrize("n_bytes", [0, 2**38, 2**63])  # of a header, it says
def test_a_large_file_that_is_no_model_is_refused_unread(n_bytes, tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(n_bytes.to_bytes(8, "little"))
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(path)
