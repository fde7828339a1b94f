"""The search spaces: the paper's, in our names, around the presets' own settings."""

import pytest

from modernnca import PRESETS, ModernNCAConfig
from modernnca.estimators.search_space import MODERNNCA, SPACES, space_for
from modernnca.tune.space import Float, Int, LogFloat, Maybe


def test_the_paper_s_space_is_the_paper_s():
    assert {
        "dim": Int(64, 1024),
        "n_blocks": Maybe(Int(0, 2), 0),
        "d_block": Int(64, 1024),
        "dropout": Float(0, 0.5),
        "n_frequencies": Int(16, 96),
        "frequency_scale": LogFloat(0.005, 10),
        "d_encoding": Int(16, 64),
        "sample_rate": Float(0.05, 0.6),
        "learning_rate": LogFloat(1e-5, 0.1),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    } == MODERNNCA
    assert space_for("paper", "classification") == MODERNNCA
    assert space_for("paper", "regression")["dropout"] == Maybe(Float(0, 0.5), 0.0)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_lies_in_its_space(preset, task):
    for name, domain in space_for(preset, task).items():
        value = getattr(PRESETS[preset], name)
        assert domain.holds(value), (name, value)


@pytest.mark.parametrize("preset", SPACES)
def test_the_ends_of_every_domain_are_allowed(preset):
    for name, domain in SPACES[preset].items():
        inner = domain.domain if isinstance(domain, Maybe) else domain
        for value in (inner.low, inner.high):
            ModernNCAConfig(**{name: value}).check()
