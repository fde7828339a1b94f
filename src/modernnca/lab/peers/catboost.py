"""CatBoost: gradient boosting of symmetric trees, with native categories."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from modernnca.lab.peers.card import Peer, import_extra, n_threads
from modernnca.lab.peers.estimator_model import (
    BoostingModel,
    EncodedData,
    bytes_to_array,
    estimator_maker,
)
from modernnca.lab.peers.table_encoders import FrameEncoder
from modernnca.tune.space import Float, Int, LogFloat


class CatBoost(BoostingModel):
    """CatBoost with early stopping; saved in the library's own format."""

    encoder: FrameEncoder
    rounds_setting = "iterations"

    def make_estimator(self, **settings: Any) -> Any:
        """The estimator of the authors' package."""
        package = import_extra("catboost", extra="boosting")
        estimator = (
            package.CatBoostRegressor
            if self.is_regression
            else package.CatBoostClassifier
        )
        return estimator(
            random_seed=self.seed,
            thread_count=n_threads(),
            allow_writing_files=False,
            logging_level="Silent",
            **settings,
        )

    def convert(self, x: Any) -> Any:
        """Categories as integers, with -1 for a missing one."""
        levels = x.select_dtypes("category")
        return x.assign(**{name: levels[name].cat.codes for name in levels})

    def fit_estimator(
        self, train: EncodedData, valid: EncodedData | None, deadline: float
    ) -> None:
        """Boost until the validation loss stops improving."""

        class TimeLimit:
            def after_iteration(self, step: Any) -> bool:
                return time.monotonic() < deadline

        self.model.fit(
            train.x,
            train.y,
            eval_set=valid,
            cat_features=self.encoder.categorical,
            callbacks=[TimeLimit()],
        )

    def best_n_rounds(self) -> int:
        """The number of trees up to the best one."""
        return int(self.model.tree_count_)

    def estimator_state(self) -> dict[str, Any]:
        """The model in the library's format, which it writes to a path only."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self.model.save_model(str(path))
            return {"cbm": bytes_to_array(path.read_bytes())}

    def load_estimator_state(self, state: dict[str, Any]) -> None:
        """Read the model from its saved format."""
        self.model.load_model(blob=bytes(state["cbm"]))


PEER = Peer(
    name="catboost",
    title="CatBoost",
    paper="Prokhorenkova et al., 2018",
    source="the authors' package",
    extra="boosting",
    tuning_settings={"refit": False},
    make=estimator_maker("catboost", CatBoost),
    defaults={"iterations": 2000, "early_stopping_rounds": 50},
    space={
        "depth": Int(3, 10),
        "learning_rate": LogFloat(1e-3, 1.0),
        "bagging_temperature": Float(0.0, 1.0),
        "l2_leaf_reg": LogFloat(1.0, 10.0),
        "leaf_estimation_iterations": Int(1, 10),
    },
)
