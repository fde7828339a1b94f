import json

import numpy as np
import pandas as pd

from modernnca.lab.bench.published_reference import published_scores


def table(folder, *, split, published):
    folder.mkdir()
    pd.DataFrame({"x": range(10), "y": range(10)}).to_parquet(folder / "data.parquet")
    info = {"task": "regression", "target": "y", "published": published}
    (folder / "info.json").write_text(json.dumps(info))
    if split:
        np.savez(folder / "splits.npz", train=np.arange(8), test=np.arange(8, 10))


def test_only_scores_on_the_given_split_stand_beside_ours(tmp_path):
    table(tmp_path / "given", split=True, published={"knn": 1.5, "svm": None})
    table(tmp_path / "drawn", split=False, published={"knn": 2.5})
    table(tmp_path / "silent", split=True, published=None)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "info.json").write_text("{")
    names = ["given", "drawn", "silent", "broken", "builtin:iris"]
    found = published_scores(names, tmp_path)
    assert found[["dataset", "method", "mean", "higher"]].values.tolist() == [
        ["given", "knn", 1.5, False]
    ]


def test_without_a_data_folder_there_is_nothing_beside(monkeypatch):
    monkeypatch.delenv("MODERNNCA_DATA", raising=False)
    assert published_scores(["builtin:iris"]).empty
