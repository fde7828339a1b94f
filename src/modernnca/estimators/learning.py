"""Networks learn: from some rows, judged by others, and in the end from all of them."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import BaseEnsemble
from torch import Tensor

from modernnca.core.learner import Labeled, NeighborLearner
from modernnca.core.leaves import Leaves
from modernnca.core.net import Net
from modernnca.estimators.answering import Answering
from modernnca.estimators.build import as_member, build_leaves, build_method
from modernnca.estimators.checkpoint import Checkpoint
from modernnca.estimators.parts import Part
from modernnca.estimators.progress import progress
from modernnca.estimators.settings import batch_size_for
from modernnca.estimators.wide import narrow, plainly
from modernnca.table.encoder import EncodedTable, TableEncoder
from modernnca.table.forest import grow
from modernnca.table.screen import Screened
from modernnca.table.telling import telling_scales
from modernnca.train.loop import History, Plan, train
from modernnca.train.seeding import seeded

Judge = Callable[[Tensor], tuple[float, float]]
TimeFrame = tuple[float, float]  # from one moment of `time.monotonic` to another
# While a network finishes nobody judges it, so it is led gently (see experiments/).
_FINISHING_RATE = 0.3  # of the rate it learned at
_FEWEST_FINISHING, _AVERAGED_FINISHING = 2, 2.0  # epochs
# The noise of few rows is soon known by heart: then it is led for a shorter time.
_FEW_ROWS, _SHARE_OF_FEW = 3000, 1 / 3


class Learning(Answering):
    """What happens to networks in `fit`; see `base` for what comes before and after."""

    target_: Any  # of the type that `base` names
    _leaves: Leaves | None  # of the forest, if it may be a member

    def _judge(self, part: Part) -> Judge:
        """A function from votes (B, V) for the rows of `part` to (score, loss)."""
        raise AssertionError("said by the classifier and the regressor")

    def _judges(self, stop_part: Part, seed: int) -> Part:
        """The rows to stop by, or some of them."""
        most = self.settings_.max_judges
        if most is None or len(stop_part) <= most:
            return stop_part
        judges = np.random.RandomState(seed).permutation(len(stop_part))
        return stop_part.take(np.sort(judges[:most]))

    def _learn(
        self,
        fit_part: Part,
        stop_part: Part | None,
        seeds: list[int],
        time_frame: TimeFrame,
        n_epochs: list[int] | None = None,
    ) -> list[tuple[Net, History]]:
        """Learn how to encode the table, then each network in turn.

        With `n_epochs` each network learns for so long, and nothing is judged.
        """
        settings = self.settings_
        self.table_ = TableEncoder(
            numbers=settings.numbers,
            categories=settings.categories,
            few_values=settings.few_values,
            indicators=settings.indicators,
            categorical_columns=self.categorical_columns,
            numerical_columns=self.numerical_columns,
            time_column=None if self.clock_ is None else self.clock_.column,
            time_features=settings.time_features,
        ).fit(fit_part.table)
        self.target_.fit(fit_part.y)
        self._narrow(fit_part, seeds[0])
        fit = self._labeled_to_learn(fit_part)
        if stop_part is not None:
            stop_part = self._judges(stop_part, seeds[0])
        stop = None if stop_part is None else self._labeled(stop_part)
        judge = self._judge(fit_part if stop_part is None else stop_part)
        begins, ends = time_frame
        again = n_epochs is not None
        joins = self._leaves is not None if again else self._forest_joins(fit, seeds)
        scales = None
        if joins or any(self._asks_forest(number) for number in range(len(seeds))):
            forest = self._grow(fit, seeds[0], begins + (ends - begins) / 10)
            scales = torch.from_numpy(telling_scales(forest)).to(fit.values)
        self._leaves = build_leaves(forest).to(self._device) if joins else None
        learned: list[tuple[Net, History]] = []
        for i, seed in enumerate(seeds):
            plan = self._plan(i, len(fit_part), time_frame, len(seeds))
            if n_epochs is not None:
                plan = _unjudged(plan, n_epochs[i])
            title = f"network {i + 1} of {len(seeds)}" if len(seeds) > 1 else "fit"
            with seeded(seed, self._device) as generator:
                net = self._new_net(i, fit, scales)
                learner = self._learner(net, fit, stop, judge, generator)
                history = self._train(learner, plan, seed, fit, title, number=i)
            learned.append((net.eval().requires_grad_(False), history))
            if history.ended == "interrupted":
                break
        return learned

    def _finish(
        self,
        part: Part,
        nets: list[Net],
        seeds: list[int],
        time_frame: TimeFrame,
    ) -> None:
        """Let each network go on with all rows, gently, for a share of its epochs."""
        fit = self._labeled_to_learn(part)
        few = min(1.0, max(_SHARE_OF_FEW, len(part) / _FEW_ROWS))
        for i, net in enumerate(nets):
            if self.ended_[i] == "callback":  # it was told to stop
                continue
            n_epochs = round(self.settings_.finishing * few * self.best_epochs_[i])
            plan = self._plan(i, len(part), time_frame, len(nets))
            plan = replace(
                _unjudged(plan, max(n_epochs, _FEWEST_FINISHING)),
                learning_rate=plan.learning_rate * _FINISHING_RATE,
                averaging=plan.averaging or _AVERAGED_FINISHING,
            )
            title = f"finish {i + 1} of {len(nets)}" if len(nets) > 1 else "finish"
            start = copy.deepcopy(net.state_dict())
            net.requires_grad_(True)
            with seeded(seeds[i], self._device) as generator:
                learner = self._learner(net, fit, None, None, generator)
                history = self._train(learner, plan, seeds[i], fit, title, number=i)
            net.eval().requires_grad_(False)
            if not history.best_epoch:  # there was no time for one
                net.load_state_dict(start)
            if history.ended == "interrupted":
                break

    def _labeled_to_learn(self, part: Part) -> Labeled:
        """Encode rows to learn from; the past alone answers only where it judges."""
        fit = self._labeled(part)
        return fit if self._judged_by_the_past else fit._replace(moments=None)

    def _plan(
        self,
        number: int,
        n_rows: int,
        time_frame: TimeFrame = (0.0, np.inf),
        n_networks: int = 1,
    ) -> Plan:
        """How one of the networks learns from so many rows, and until when.

        Every network gets an equal part of the time.
        """
        settings = as_member(self.settings_, number)
        begins, ends = time_frame
        return Plan(
            optimizer=settings.optimizer,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            batch_size=batch_size_for(settings, n_rows),
            max_epochs=settings.max_epochs,
            patience=settings.patience,
            ties=settings.ties,
            averaging=settings.averaging,
            deadline=begins + (ends - begins) * (number + 1) / n_networks,
        )

    def _narrow(self, fit_part: Part, seed: int) -> None:
        """Screen the columns of a wide table, and settle what suits those left."""
        self.wide_: Screened | None = None
        if self.settings_.wide:
            values = self._values(fit_part.y).numpy()
            self.table_, self.wide_ = narrow(
                self.table_, fit_part.table, values, seed=seed
            )
        if self.wide_ is not None and self.encoding == "auto":
            self.settings_ = plainly(self.settings_, self.table_)

    def _grow(self, fit: Labeled, seed: int, deadline: float) -> BaseEnsemble:
        """A forest of trees that tell the rows' values."""
        table = EncodedTable(*(part.cpu().numpy() for part in fit.rows))
        weights = None if fit.weights is None else fit.weights.cpu().numpy()
        values = fit.values.cpu().numpy()
        return grow(table, values, weights=weights, seed=seed, deadline=deadline)

    def _forest_joins(self, fit: Labeled, seeds: list[int]) -> bool:
        """Whether a forest's leaves are a member: beside several, where rows are few.

        With more rows networks find what trees find, and more (see experiments/).
        """
        settings = self.settings_
        asked = settings.forest_member and settings.weigh and len(seeds) > 1
        soft = settings.prediction == "soft" and self._learns_from == "classes"
        return asked and soft and len(fit.values) < _FEW_ROWS

    def _asks_forest(self, number: int) -> bool:
        return as_member(self.settings_, number).scale_columns == "forest"

    def _new_net(self, number: int, fit: Labeled, scales: Tensor | None) -> Net:
        """A network that has learned nothing yet."""
        net = Net(self._net_shape(number)).to(self._device)
        net.prepare(fit.rows.numbers)
        if scales is not None and self._asks_forest(number):
            net.start_scales(scales, fit.rows.codes)
        return net

    def _learner(
        self,
        net: Net,
        fit: Labeled,
        stop: Labeled | None,
        judge: Judge | None,
        generator: torch.Generator,
    ) -> NeighborLearner:
        """What the loop trains."""
        method = build_method(self.settings_, self._learns_from)
        return NeighborLearner(
            net, fit, stop, method=method, judge=judge, generator=generator
        )

    def _train(
        self,
        learner: NeighborLearner,
        plan: Plan,
        seed: int,
        fit: Labeled,
        title: str,
        *,
        number: int,
    ) -> History:
        """Train one network; where an earlier fit was interrupted, go on with it."""
        resume, keep = None, None
        if self.checkpoint_dir is not None:
            checkpoint = self._checkpoint(number, refit=not plan.judged)
            resume = checkpoint.read(seed, fit, self.settings_)
            keep = checkpoint.write
        metric, shown = self.settings_.stopping_metric, self.verbose > 0
        assert not isinstance(metric, tuple)  # settings.resolve
        with progress(title, plan.max_epochs, metric, shown=shown) as bars:
            return train(
                learner,
                plan,
                learner.generator,
                callbacks=[*bars, *self.callbacks],
                resume=resume,
                keep=keep,
            )

    def _checkpoint(self, number: int, *, refit: bool) -> Checkpoint:
        """Where the training of one network is kept."""
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError(
                "checkpoint_dir needs random_state to be a whole number, or a resumed "
                f"fit could not go on as it began; got {self.random_state!r}."
            )
        return Checkpoint(
            self.checkpoint_dir, f"{'refit' if refit else 'fit'}-{number}"
        )

    def _note(self, histories: list[History]) -> None:
        """Say what happened in training."""
        self.history_ = [
            epoch._replace(member=i)
            for i, history in enumerate(histories)
            for epoch in history.epochs
        ]
        self.best_epochs_ = [history.best_epoch for history in histories]
        self.ended_ = [history.ended for history in histories]

    def _n_epochs_on_all(self, n_fit: int, n_all: int) -> list[int]:
        """The epochs over all rows that take as many steps as led to the best."""
        found = []
        for number, best_epoch in enumerate(self.best_epochs_):
            steps_fit = -(-n_fit // self._plan(number, n_fit).batch_size)
            steps_all = -(-n_all // self._plan(number, n_all).batch_size)
            found.append(max(1, round(best_epoch * steps_fit / steps_all)))
        return found


def _unjudged(plan: Plan, n_epochs: int) -> Plan:
    """The same, for so many epochs, and the last weights stay."""
    return replace(plan, max_epochs=n_epochs, patience=None, judged=False)
