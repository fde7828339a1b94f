"""The protocol of the paper: the settings of the public benchmark, the same for all."""

import json

import pytest

from modernnca.lab.bench.protocol import BATCH_SIZE, paper_settings
from modernnca.lab.bench.study import read_study
from modernnca.lab.peers import peer

# Where our defaults are others.
BENCHMARK = {
    "mlp": {"weight_decay": 1e-5},
    "resnet": {"weight_decay": 1e-5},
    "mlp-plr": {"learning_rate": 1e-3},
    "dcnv2": {"learning_rate": 1e-4},
    "danets": {"learning_rate": 1e-4},
    "tabcaps": {"learning_rate": 1e-3},
    "node": {"learning_rate": 1e-3},
    "saint": {"n_blocks": 6, "n_heads": 8},
    "ptarl": {"transport_cost": "cosine", "learning_rate": 1e-4},
}
MAIN = read_study("main")


def test_only_these_defaults_are_not_the_benchmarks():
    cards = [peer(variant.method) for variant in MAIN.variants]
    found = {card.name: dict(card.published) for card in cards if card.published}
    assert found == BENCHMARK


@pytest.mark.parametrize("name", BENCHMARK)
def test_untuned_runs_have_the_settings_of_the_benchmark(name):
    variant = next(each for each in MAIN.variants if each.method == name)
    settings = json.loads(MAIN.job(variant, "t", "classification").settings)
    assert settings.items() >= BENCHMARK[name].items()
    tuned = MAIN.job(variant, "t", "classification", trials=9).settings
    assert not json.loads(tuned).keys() & peer(name).space.keys()


@pytest.mark.parametrize("variant", MAIN.variants, ids=lambda variant: variant.label)
def test_a_card_says_what_only_a_study_undoes(variant):
    card = peer(variant.method)
    undone = dict(card.published)
    if card.defaults.get("batch_size", BATCH_SIZE) != BATCH_SIZE:
        undone["batch_size"] = BATCH_SIZE
    assert paper_settings(card.name, "classification", 0).items() >= undone.items()
    assert bool(undone) == ("unless a study asks for the benchmark's" in card.differs)


def test_our_own_estimators_stop_by_the_rmse_in_regression_alone():
    for method in ("modernnca-paper", "l-nca", "tabcon"):
        assert paper_settings(method, "regression", 9)["eval_metric"] == "rmse"
        assert "eval_metric" not in paper_settings(method, "classification", 9)
