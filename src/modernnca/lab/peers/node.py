"""NODE: layers of differentiable oblivious decision trees.

Shapes: T trees of depth D, C responses per tree, B rows. Inside, rows are the last
axis, so that memory access is contiguous.
"""

from typing import cast

import torch
from torch import Tensor, nn

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.entmax import entmax15, entmoid15
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Choice, Int, LogFloat, Maybe

N_INIT_ROWS = 2048  # rows for the data-aware initialization


def path_weights(right: Tensor) -> Tensor:
    """The weight of each row on each path: (T, D, B) to (T, 2^D, B).

    `right` is the share of a row that goes right at each depth. Bit d of a path's index
    is set where the path goes right at depth d.

    >>> path_weights(torch.tensor([[[1.0], [0.25]]])).flatten()
    tensor([0.0000, 0.7500, 0.0000, 0.2500])
    """
    weights = right.new_ones(len(right), 1, right.shape[2])
    for sides in torch.stack([1 - right, right], 2).unbind(1):  # (T, 2, B)
        weights = (sides[:, :, None] * weights[:, None]).flatten(1, 2)
    return weights


class ObliviousTrees(nn.Module):
    """Trees whose nodes of one depth share a split: (d, B) to (T, C, B).

    A split compares a sparse mean of the columns with a threshold.
    """

    def __init__(self, d_in: int, *, n_trees: int, depth: int, d_response: int) -> None:
        super().__init__()
        self.choice = nn.Parameter(torch.rand(n_trees * depth, d_in))
        self.threshold = nn.Parameter(torch.zeros(n_trees * depth, 1))
        self.log_temperature = nn.Parameter(torch.zeros(n_trees * depth, 1))
        self.response = nn.Parameter(torch.randn(n_trees, d_response, 2**depth))
        # PAPER: one small learning rate, for many thousand steps. The mean of many
        # trees moves no faster than one of them, and a small table has few steps.
        self.response.rate_factor = 10.0  # type: ignore[attr-defined]
        # The weights of all leaves of all trees for all rows would fill the memory. So
        # we expand the first depths and the others separately, and join them in the
        # responses.
        self.n_first = min(
            range(depth + 1), key=lambda k: 2**k + (d_response + 1) * 2 ** (depth - k)
        )

    def forward(self, x: Tensor) -> Tensor:
        """The response of each tree to each row."""
        n_trees, d_response = self.response.shape[:2]
        margin = entmax15(self.choice) @ x - self.threshold
        right = entmoid15(margin * (-self.log_temperature).exp())  # (T * D, B)
        right = right.view(n_trees, -1, x.shape[1])
        first = path_weights(right[:, : self.n_first])
        rest = path_weights(right[:, self.n_first :])
        response = self.response.view(n_trees, -1, first.shape[1]) @ first
        response = response.view(n_trees, d_response, -1, x.shape[1])  # per rest path
        return (response * rest[:, None]).sum(2)

    @torch.no_grad()
    def initialize(self, x: Tensor) -> None:
        """Set thresholds to random quantiles of the rows, and the temperatures.

        No row lies further than one temperature from a threshold, and the soft split is
        flat beyond two; so every row has a gradient at first.
        """
        values = entmax15(self.choice) @ x  # (T * D, B)
        index = torch.randint(x.shape[1], (len(values), 1)).to(x.device)
        self.threshold.copy_(values.gather(1, index))
        spread = (values - self.threshold).abs().amax(1, keepdim=True)
        self.log_temperature.copy_(torch.where(spread > 1e-6, spread, 1.0).log())


class NODE(nn.Module):
    """Layers of trees; each reads the columns and the responses of all layers before.

    The output is the mean over all trees of the first `d_out` responses.
    """

    eval_batch_size = 1024

    def __init__(
        self, shape: TableShape, *, n_layers: int, n_trees: int, depth: int, d_tree: int
    ) -> None:
        super().__init__()
        self.flat, self.d_out = Flat(shape), shape.d_out
        d_response = max(d_tree, shape.d_out)
        self.layers = nn.ModuleList(
            ObliviousTrees(
                self.flat.d_out + i * n_trees * d_response,
                n_trees=n_trees,
                depth=depth,
                d_response=d_response,
            )
            for i in range(n_layers)
        )

    def forward(self, rows: Rows) -> Tensor:
        """Predict each row, (B, d_out)."""
        return self._run(rows, initialize=False)

    def initialize(self, rows: Rows) -> None:
        """Initialize the layers in turn, each on the outputs of those before."""
        with torch.no_grad():
            self._run(rows, initialize=True)

    def _run(self, rows: Rows, *, initialize: bool) -> Tensor:
        x = self.flat(rows).T  # (d, B)
        responses: list[Tensor] = []
        for layer in cast(list[ObliviousTrees], self.layers):
            if initialize:
                layer.initialize(x)
            responses.append(layer(x))
            x = torch.cat([x, responses[-1].flatten(0, 1)])
        return torch.cat(responses)[:, : self.d_out].mean(0).T


class NODELearner(Supervised):
    """The plain learner, after a data-aware initialization."""

    module: NODE

    def prepare(self) -> None:
        """Initialize thresholds and temperatures from a sample of the rows."""
        index = torch.randperm(self.n_rows, generator=self.generator)[:N_INIT_ROWS]
        self.module.initialize(self.train.take(index.to(self.train.y.device)).rows)


PEER = Peer(
    name="node",
    title="NODE",
    paper="Popov et al., 2020",
    source="our implementation: packages that have it bring their own framework",
    differs="AdamW instead of QHAdam; the responses of the trees learn ten times as "
    "fast as the rest; the learning rate is ten times as high, for fewer steps, unless "
    "a study asks for the benchmark's",
    published={"learning_rate": 1e-3},
    make=net_maker("node", NODE, NODELearner),
    defaults={
        "n_layers": 1,
        "n_trees": 1024,
        "depth": 6,
        "d_tree": 2,
        "learning_rate": 0.01,
        "weight_decay": 0.0,
    },
    space={
        "n_layers": Int(1, 4),
        "n_trees": Choice((512, 1024)),
        "depth": Int(4, 6),
        "d_tree": Int(2, 3),
        "learning_rate": LogFloat(1e-5, 0.1),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
