"""Importing modernnca.lab.stats."""

import importlib
import sys

import pytest

from modernnca.errors import MissingExtraError
from modernnca.lab import stats


def test_every_name_is_there():
    assert all(hasattr(stats, name) for name in stats.__all__)


def test_without_pandas_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, "modernnca.lab.stats")
    with pytest.raises(MissingExtraError, match=r'pip install "modernnca\[bench\]"'):
        importlib.import_module("modernnca.lab.stats")
