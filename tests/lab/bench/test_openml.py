"""OpenML's own client, from its cache and without a network."""

import sys
from pathlib import Path

import pytest

from modernnca.errors import MissingExtraError, TableError
from modernnca.lab.bench.readers import read_dataset

openml = pytest.importorskip("openml")
requests = pytest.importorskip("requests")

DESCRIPTION = """<oml:data_set_description xmlns:oml="http://openml.org/openml">
  <oml:id>31</oml:id><oml:name>credit-g</oml:name><oml:version>1</oml:version>
  <oml:description>credits</oml:description><oml:format>ARFF</oml:format>
  <oml:url>https://www.openml.org/31.arff</oml:url><oml:file_id>31</oml:file_id>
  <oml:default_target_attribute>{target}</oml:default_target_attribute>
</oml:data_set_description>"""
ARFF = """@relation credit
@attribute duration numeric
@attribute purpose {car,tv}
@attribute class {bad,good}
@data
6,car,good
?,tv,bad
12,?,good
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of our own, and a network that is down at once."""

    def down(*args, **kwargs):
        raise requests.exceptions.ConnectionError("no network")

    monkeypatch.setattr(requests.Session, "request", down)
    monkeypatch.setattr("openml._api_calls.time.sleep", lambda _: None)
    before = openml.config._root_cache_directory
    openml.config.set_root_cache_directory(str(tmp_path))
    yield Path(openml.config.get_cache_directory())
    openml.config.set_root_cache_directory(before)


def put(cache, target="class"):
    folder = cache / "datasets" / "31"
    folder.mkdir(parents=True)
    (folder / "description.xml").write_text(DESCRIPTION.format(target=target))
    (folder / "dataset.arff").write_text(ARFF)


def test_a_table_in_the_cache_needs_no_network(cache):
    put(cache)
    dataset = read_dataset("openml:31")
    assert (dataset.name, dataset.task) == ("openml:31", "binclass")
    assert dataset.y.tolist() == ["good", "bad", "good"]
    assert dataset.X["duration"].isna().tolist() == [False, True, False]
    assert dataset.X["purpose"].cat.codes.tolist() == [0, 1, -1]
    assert dataset.info["name"] == "credit-g"


def test_off_line_it_says_so(cache):
    with pytest.raises(TableError) as error:
        read_dataset("openml:40981")
    assert str(error.value) == (
        f"The OpenML dataset 40981 is not in the cache {str(cache)!r}, and OpenML "
        "cannot be reached; go online once, or choose a dataset on disk."
    )


def test_a_number_that_openml_does_not_have_is_named(monkeypatch):
    def refuse(*args, **kwargs):
        raise openml.exceptions.OpenMLServerException("Unknown dataset", code=111)

    monkeypatch.setattr(openml.datasets, "get_dataset", refuse)
    with pytest.raises(TableError, match=r"refused the dataset 7: .*Unknown dataset"):
        read_dataset("openml:7")


def test_two_targets_are_refused(cache):
    put(cache, target="class,purpose")
    with pytest.raises(TableError, match="'class,purpose', which is not a single"):
        read_dataset("openml:31")


def test_openml_knows_numbers_only():
    with pytest.raises(TableError, match="'openml:credit-g' has no numeric OpenML ID"):
        read_dataset("openml:credit-g")


def test_without_the_client_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openml", None)
    with pytest.raises(MissingExtraError) as error:
        read_dataset("openml:31")
    assert str(error.value) == (
        'OpenML datasets need the openml package: pip install "modernnca[openml]"'
    )
