"""PTaRL: rows are placed by their coordinates among prototypes of the whole table.

First a plain net is learned; the centers of what its last hidden layer makes of the
training rows become the prototypes. Then a row is represented by a sum of prototypes,
whose coefficients are learned.
Shapes: B rows, D the width of a representation, K prototypes.
"""

import math

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn.functional import normalize

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.mlp import layers
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised, answer_all
from modernnca.tune.space import Float, Int, LogFloat, Maybe


def transport_cost(shares: Tensor, points: Tensor, prototypes: Tensor) -> Tensor:
    """What it costs to carry points (B, D) to prototypes (K, D) by their shares (B, K).

    One minus the cosine is the cost of a way. All mass of a row lies in one point, so
    there is one plan only, and the Wasserstein distance is a sum.

    PAPER: the public code adds the cosine itself, which would drive them apart.
    """
    cosines = normalize(points, dim=1) @ normalize(prototypes, dim=1).T
    return (shares * (1 - cosines)).sum(1).mean()


def diversification(shares: Tensor, groups: Tensor) -> Tensor:
    """The part of all distances between shares (B, K) that lies within groups (B,)."""
    distances = torch.cdist(shares, shares, p=1)
    alike = groups[:, None] == groups
    return (distances * alike).sum() / (distances.sum() + 1e-8)


def orthogonality(prototypes: Tensor) -> Tensor:
    """Least, 1, for prototypes (K, D) at right angles.

    With M the absolute cosines, it is |M|_1 / |M|_2^2 + ||M|_1 - K| / 2.
    """
    units = normalize(prototypes, dim=1)
    cosines = (units @ units.T).abs().clamp_max(1.0)
    size = cosines.sum()
    return size / cosines.square().sum() + 0.5 * (size - len(prototypes)).abs()


def groups_of(y: Tensor) -> Tensor:
    """Which rows are alike: classes, or bins of numbers, as many as Sturges says."""
    if not y.is_floating_point():
        return y
    n_bins = 1 + int(math.log2(len(y)))
    low, high = y.aminmax()
    places = (y - low) / (high - low).clamp_min(1e-12)  # 0 to 1
    return (places * n_bins).long().clamp_max(n_bins - 1)


def centers(points: np.ndarray, n: int, *, seed: int) -> np.ndarray:
    """`n` centers of points (N, D) by k-means, (n, D); too few points are repeated."""
    distinct = np.unique(points, axis=0)
    if len(distinct) <= n:
        return distinct[np.arange(n) % len(distinct)]
    return KMeans(n, random_state=seed).fit(points).cluster_centers_


class PTaRL(nn.Module):
    """A plain net with two heads: its own, and one that reads sums of prototypes."""

    def __init__(
        self,
        shape: TableShape,
        *,
        n_layers: int,
        d_layer: int,
        dropout: float,
        n_prototypes: int,
        transport_weight: float,
        diversity_weight: float,
        orthogonality_weight: float,
    ) -> None:
        super().__init__()
        self.transport_weight = transport_weight
        self.diversity_weight = diversity_weight
        self.orthogonality_weight = orthogonality_weight
        self.represent = nn.Sequential(
            Flat(shape),
            layers(shape.d_flat, [d_layer] * (n_layers - 1), d_layer, dropout),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        self.first_head = nn.Linear(d_layer, shape.d_out)
        hidden = [
            (nn.Linear(d_layer, d_layer), nn.GELU(), nn.Dropout(0.1)) for _ in range(3)
        ]
        self.place = nn.Sequential(
            *(part for parts in hidden for part in parts),
            nn.Linear(d_layer, n_prototypes),
        )
        self.prototypes = nn.Parameter(torch.zeros(n_prototypes, d_layer))
        self.head = nn.Linear(d_layer, shape.d_out)

    def forward(self, rows: Rows) -> Tensor:
        """Answer each row by its sum of prototypes, (B, d_out)."""
        return self.answer(self.place(self.represent(rows)))

    def answer(self, coordinates: Tensor) -> Tensor:
        """What the coordinates (B, K) of rows say."""
        return self.head(coordinates @ self.prototypes)


class First(Supervised):
    """The plain net alone."""

    module: PTaRL

    def begin(self) -> None:
        """Put the net and its own head together."""
        self.net = nn.Sequential(self.module.represent, self.module.first_head)

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.examples(batch)
        return self.criterion(self.net(rows), y)

    def validate(self) -> tuple[float, float]:
        """How good it is on the rows to stop by."""
        return self.judge(answer_all(self.net, self.stop.rows, len(self.stop)))


class Second(Supervised):
    """The prototypes: found, then learned with the coordinates of rows among them."""

    module: PTaRL

    def begin(self) -> None:
        """Make the centers of what the net makes of the rows the prototypes."""
        points = answer_all(self.module.represent, self.fit.rows, len(self.fit))
        seed = int(torch.randint(2**31, (), generator=self.generator))
        n_prototypes = len(self.module.prototypes)
        found = centers(points.cpu().numpy(), n_prototypes, seed=seed)
        with torch.no_grad():
            self.module.prototypes.copy_(torch.from_numpy(found))

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`, and three of the prototypes."""
        rows, y = self.examples(batch)
        module = self.module
        points = module.represent(rows)
        coordinates = module.place(points)
        shares = coordinates.softmax(1)
        some = torch.randperm(len(y), generator=self.generator)[: max(1, len(y) // 2)]
        some = some.to(y.device)
        return (
            self.criterion(module.answer(coordinates), y)
            + module.transport_weight
            * transport_cost(shares, points, module.prototypes)
            + module.diversity_weight
            * diversification(shares[some], groups_of(y)[some])
            + module.orthogonality_weight * orthogonality(module.prototypes)
        )


PEER = Peer(
    name="ptarl",
    title="PTaRL",
    paper="Ye et al., 2024",
    source="written here from the paper: there is no package",
    differs="the second phase goes on with the net of the first, which the public code "
    "draws anew; transport costs one minus the cosine; categories come one-hot, to be "
    "embedded by the first layer; ten times the rate, since batches are larger",
    make=net_maker("ptarl", PTaRL, First, Second),
    defaults={
        "n_layers": 2,
        "d_layer": 256,
        "dropout": 0.2,
        "n_prototypes": 20,
        "transport_weight": 0.25,
        "diversity_weight": 0.25,
        "orthogonality_weight": 0.25,
        "learning_rate": 1e-3,
    },
    space={
        "n_layers": Int(1, 3),
        "d_layer": Int(64, 512),
        "dropout": Maybe(Float(0.0, 0.5), 0.0),
        "learning_rate": LogFloat(1e-5, 0.1),
        "weight_decay": Maybe(LogFloat(1e-6, 1e-3), 0.0),
    },
)
