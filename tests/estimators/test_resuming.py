"""A fit that was cut short resumes from its checkpoints as if it had not been."""

import numpy as np
from tests.estimators.models import regressor

from modernnca.ensemble.network_member import NetworkMember
from modernnca.train.budget import Budget

RNG = np.random.RandomState(0)
X = RNG.randn(400, 4)
Y = np.sin(3 * X[:, 0]) + X[:, 1]
QUICK = {"max_epochs": 12, "n_members": 2, "random_state": 0, "baseline_check": False}
QUICK |= {"patience": 12}


class ShortBudget(Budget):
    """A budget that lasts for so many checks, whatever the clock says."""

    def __init__(self, n_checks):
        super().__init__()
        self.n_left = n_checks

    def exhausted(self):
        self.n_left -= 1
        return "time_limit" if self.n_left < 0 else None


def test_fine_tuning_never_resumes_from_other_weights(tmp_path, monkeypatch):
    """The time of the first network ends early; there is time left to fine-tune it.

    Resumed without the limit, the network learns on from its checkpoint. Fine-tuning
    then begins with other weights, and must not resume from what was fine-tuned before.
    """
    whole = regressor(**QUICK).fit(X, Y)
    fit = NetworkMember.fit

    def cut(member, train, valid, run):
        if run.number == 0:
            run = run.but(budget=ShortBudget(8))
        return fit(member, train, valid, run)

    with monkeypatch.context() as patch:
        patch.setattr(NetworkMember, "fit", cut)
        short = regressor(**QUICK, checkpoint_dir=tmp_path).fit(X, Y)
    assert short.ended_[0] == "time_limit"
    assert 0 < short.best_epochs_[0] < whole.best_epochs_[0]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        *("finetune-0.checkpoint", "finetune-1.checkpoint"),
        *("fit-0.checkpoint", "fit-1.checkpoint"),
    ]
    resumed = regressor(**QUICK, checkpoint_dir=tmp_path).fit(X, Y)
    assert resumed.best_epochs_ == whole.best_epochs_
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))


def test_a_finished_fit_is_not_run_again(tmp_path):
    first = regressor(**QUICK, checkpoint_dir=tmp_path).fit(X, Y)
    seen = []
    again = regressor(**QUICK, checkpoint_dir=tmp_path, callbacks=[seen.append])
    np.testing.assert_array_equal(again.fit(X, Y).predict(X), first.predict(X))
    assert seen == []
