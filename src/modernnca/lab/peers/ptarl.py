"""PTaRL: represent rows by their coordinates among global prototypes.

The first phase trains an MLP; the k-means centers of its last hidden layer on the
training rows become the prototypes. The second phase represents a row as a sum of
prototypes and learns the coefficients (coordinates).
Shapes: B rows, D the width of a representation, K prototypes.
"""

import math

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn.functional import normalize

from modernnca._named import named
from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.mlp import mlp_layers
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised, predict_in_batches
from modernnca.tune.space import Float, Int, LogFloat, Maybe


def transport_cost(
    shares: Tensor, points: Tensor, prototypes: Tensor, *, cost: str = "distance"
) -> Tensor:
    """The cost of transporting points (B, D) to prototypes (K, D) by shares (B, K).

    The cost of one unit is one minus the cosine; or, with the cost "cosine" of the
    public code, the cosine itself, which drives them apart. The mass of a row is a
    single point, so there is only one plan, and the Wasserstein distance is a sum.
    """
    cosines = normalize(points, dim=1) @ normalize(prototypes, dim=1).T
    costs = named("transport_cost", cost, {"distance": 1 - cosines, "cosine": cosines})
    return (shares * costs).sum(1).mean()


def diversification(shares: Tensor, groups: Tensor) -> Tensor:
    """The part of all distances between shares (B, K) that is within groups (B,)."""
    distances = torch.cdist(shares, shares, p=1)
    same = groups[:, None] == groups
    return (distances * same).sum() / (distances.sum() + 1e-8)


def orthogonality(prototypes: Tensor) -> Tensor:
    """A penalty on prototypes (K, D); the minimum, 1, is for orthogonal ones.

    With M the absolute cosines, it is |M|_1 / |M|_2^2 + ||M|_1 - K| / 2.
    """
    units = normalize(prototypes, dim=1)
    cosines = (units @ units.T).abs().clamp_max(1.0)
    total = cosines.sum()
    return total / cosines.square().sum() + 0.5 * (total - len(prototypes)).abs()


def target_groups(y: Tensor) -> Tensor:
    """The classes, or for numbers the bins of equal width by Sturges' rule."""
    if not y.is_floating_point():
        return y
    n_bins = 1 + int(math.log2(len(y)))
    low, high = y.aminmax()
    scaled = (y - low) / (high - low).clamp_min(1e-12)  # 0 to 1
    return (scaled * n_bins).long().clamp_max(n_bins - 1)


def kmeans_centers(points: np.ndarray, n: int, *, seed: int) -> np.ndarray:
    """`n` k-means centers of points (N, D): (n, D); too few points are repeated."""
    distinct = np.unique(points, axis=0)
    if len(distinct) <= n:
        return distinct[np.arange(n) % len(distinct)]
    return KMeans(n, random_state=seed).fit(points).cluster_centers_


class PTaRL(nn.Module):
    """An MLP with two heads: one for its output, one for sums of prototypes."""

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
        transport_cost: str = "distance",
    ) -> None:
        super().__init__()
        self.transport_cost = transport_cost
        self.transport_weight = transport_weight
        self.diversity_weight = diversity_weight
        self.orthogonality_weight = orthogonality_weight
        self.represent = nn.Sequential(
            Flat(shape),
            mlp_layers(shape.d_flat, [d_layer] * (n_layers - 1), d_layer, dropout),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        self.first_head = nn.Linear(d_layer, shape.d_out)
        hidden = [
            (nn.Linear(d_layer, d_layer), nn.GELU(), nn.Dropout(0.1)) for _ in range(3)
        ]
        self.projector = nn.Sequential(
            *(part for parts in hidden for part in parts),
            nn.Linear(d_layer, n_prototypes),
        )
        self.prototypes = nn.Parameter(torch.zeros(n_prototypes, d_layer))
        self.head = nn.Linear(d_layer, shape.d_out)

    def forward(self, rows: Rows) -> Tensor:
        """Predict each row from its sum of prototypes, (B, d_out)."""
        return self.predict_coordinates(self.projector(self.represent(rows)))

    def predict_coordinates(self, coordinates: Tensor) -> Tensor:
        """Predict from the coordinates (B, K) of rows."""
        return self.head(coordinates @ self.prototypes)


class MLPLearner(Supervised):
    """The first phase: the MLP with its own head."""

    module: PTaRL

    def prepare(self) -> None:
        """Join the MLP and its head."""
        self.net = nn.Sequential(self.module.represent, self.module.first_head)

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.take(batch)
        return self.criterion(self.net(rows), y)

    def validate(self) -> tuple[float, float]:
        """The score and the loss on the validation rows."""
        return self.evaluate(predict_in_batches(self.net, self.valid.rows))


class PrototypeLearner(Supervised):
    """The second phase: the prototypes, and the coordinates of rows among them."""

    module: PTaRL

    def prepare(self) -> None:
        """Initialize the prototypes by k-means on the representations of the rows."""
        points = predict_in_batches(self.module.represent, self.train.rows)
        seed = int(torch.randint(2**31, (), generator=self.generator))
        n_prototypes = len(self.module.prototypes)
        centers = kmeans_centers(points.cpu().numpy(), n_prototypes, seed=seed)
        with torch.no_grad():
            self.module.prototypes.copy_(torch.from_numpy(centers))

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`, plus three for the prototypes."""
        rows, y = self.take(batch)
        module = self.module
        points = module.represent(rows)
        coordinates = module.projector(points)
        shares = coordinates.softmax(1)
        half = torch.randperm(len(y), generator=self.generator)[: max(1, len(y) // 2)]
        half = half.to(y.device)
        return (
            self.criterion(module.predict_coordinates(coordinates), y)
            + module.transport_weight
            * transport_cost(
                shares, points, module.prototypes, cost=module.transport_cost
            )
            + module.diversity_weight
            * diversification(shares[half], target_groups(y)[half])
            + module.orthogonality_weight * orthogonality(module.prototypes)
        )


PEER = Peer(
    name="ptarl",
    title="PTaRL",
    paper="Ye et al., 2024",
    source="our implementation of the paper: there is no package",
    differs="the second phase continues with the network of the first, where the "
    "public code starts with new weights; the transport cost is one minus the cosine, "
    "and the learning rate ten times as high, unless a study asks for the benchmark's; "
    "one-hot categories, which the first layer embeds",
    published={"transport_cost": "cosine", "learning_rate": 1e-4},
    make=net_maker("ptarl", PTaRL, MLPLearner, PrototypeLearner),
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
