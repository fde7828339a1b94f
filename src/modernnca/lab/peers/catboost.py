"""CatBoost: boosted symmetric trees, with its own way with categories."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from modernnca.lab.peers.card import Peer, imported, n_threads
from modernnca.lab.peers.columns import Frame
from modernnca.lab.peers.wrapped import Boosted, Seen, as_array, wrapped_maker
from modernnca.tune.space import Float, Int, LogFloat


class CatBoost(Boosted):
    """Stops by the held-out rows; its file holds the library's own format."""

    columns: Frame
    rounds = "iterations"

    def estimator(self, **settings: Any) -> Any:
        """Of the authors' package."""
        package = imported("catboost", extra="boosting")
        return (
            package.CatBoostRegressor if self.regression else package.CatBoostClassifier
        )(
            random_seed=self.seed,
            thread_count=n_threads(),
            allow_writing_files=False,
            logging_level="Silent",
            **settings,
        )

    def prepare(self, x: Any) -> Any:
        """Categories as whole numbers, as it wants them, -1 for a missing one."""
        levels = x.select_dtypes("category")
        return x.assign(**{name: levels[name].cat.codes for name in levels})

    def learn(self, fit: Seen, stop: Seen | None, ends: float) -> None:
        """Boost until it helps no more."""

        class Clock:
            def after_iteration(self, step: Any) -> bool:
                return time.monotonic() < ends

        self.model.fit(
            fit.x,
            fit.y,
            eval_set=stop,
            cat_features=self.columns.categorical,
            callbacks=[Clock()],
        )

    def n_rounds(self) -> int:
        """Trees up to the best one."""
        return int(self.model.tree_count_)

    def put_away(self) -> dict[str, Any]:
        """The model in the library's format, which it writes to paths only."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self.model.save_model(str(path))
            return {"cbm": as_array(path.read_bytes())}

    def bring_back(self, state: dict[str, Any]) -> None:
        """Read the model."""
        self.model.load_model(blob=bytes(state["cbm"]))


PEER = Peer(
    name="catboost",
    title="CatBoost",
    paper="Prokhorenkova et al., 2018",
    source="the authors' package",
    extra="boosting",
    make=wrapped_maker("catboost", CatBoost),
    defaults={"iterations": 2000, "early_stopping_rounds": 50},
    space={
        "depth": Int(3, 10),
        "learning_rate": LogFloat(1e-3, 1.0),
        "bagging_temperature": Float(0.0, 1.0),
        "l2_leaf_reg": LogFloat(1.0, 10.0),
        "leaf_estimation_iterations": Int(1, 10),
    },
)
