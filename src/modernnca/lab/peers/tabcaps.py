"""TabCaps: profiles of a row vote for capsules, whose lengths score the classes.

Shapes: B rows, d columns, P profiles of a row, S capsules (several per class), T
dimensions of a capsule.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, normalize, one_hot

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.danets import AbstractLayer
from modernnca.lab.peers.entmax import entmax15
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Int, LogFloat


def margin_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Penalize less than 0.9 for the true class and more than 0.1 for the others.

    PAPER: the margins apply to lengths; here, as in the authors' code, to the softmax
    of lengths, so that training and prediction use the same quantity.

    >>> margin_loss(torch.zeros(1, 2), torch.tensor([0]))  # 0.4^2 + 0.4^2 / 2
    tensor(0.2400)
    """
    p = logits.softmax(1)
    true = one_hot(y, p.shape[1])
    too_low = (0.9 - p).relu().square()
    too_high = (p - 0.1).relu().square()
    return (true * too_low + 0.5 * (1 - true) * too_high).sum(1).mean()


class Profiles(nn.Module):
    """Columns and linear mixtures of them, times kernels: (B, d) to (B, P, d_out).

    Each kernel weights the columns differently; the last profile is the row itself.
    """

    def __init__(self, d_in: int, *, d_mixed: int, n_kernels: int) -> None:
        super().__init__()
        self.mix = nn.Linear(d_in, d_mixed)
        self.d_out = d_in + d_mixed
        self.kernels = nn.Parameter(torch.randn(n_kernels, self.d_out))
        self.norm = nn.LayerNorm(self.d_out)

    def forward(self, x: Tensor) -> Tensor:
        """The normalized profiles of each row."""
        x = torch.cat([x, self.mix(x)], 1)[:, None]
        return self.norm(torch.cat([x * self.kernels, x], 1))


class Routing(nn.Module):
    """One-pass routing of votes to capsules: votes near the mean count more.

    Votes are compared by their similarities to learned words, as bags of words are.
    """

    def __init__(self, n_profiles: int, n_capsules: int, *, d: int, n_words: int):
        super().__init__()
        self.words = nn.Parameter(torch.rand(n_words, d))
        self.max_distance = nn.Parameter(torch.rand(n_profiles, n_capsules))
        self.norm = nn.LayerNorm(d)

    def weights(self, votes: Tensor) -> Tensor:
        """The weights (B, P, S) of the votes (B, P, S, T); they sum to one over P."""
        bags = (votes @ normalize(self.words, dim=1).T).sigmoid()  # (B, P, S, words)
        distance = (bags - bags.mean(1, keepdim=True)).square().mean(3)
        return (self.max_distance.square() - distance).relu().softmax(1)

    def forward(self, votes: Tensor) -> Tensor:
        """Map votes (B, P, S, T) to capsules (B, S, T)."""
        return self.norm((self.weights(votes)[..., None] * votes).sum(1))


class TabCaps(nn.Module):
    """Profiles vote for capsules; a decoder reconstructs the row from them.

    Args:
        n_each: capsules per class.
        d_mixed: linear mixtures of columns, in addition to the columns.
        rebuild: the weight of the reconstruction error.
    """

    eval_batch_size = 1024

    def __init__(
        self,
        shape: TableShape,
        *,
        n_each: int,
        d_mixed: int,
        n_kernels: int,
        d_capsule: int,
        n_words: int,
        rebuild: float,
    ) -> None:
        super().__init__()
        self.flat, self.rebuild = Flat(shape), rebuild
        self.sizes = shape.d_out, n_each, d_capsule
        self.profiles = Profiles(self.flat.d_out, d_mixed=d_mixed, n_kernels=n_kernels)
        n_profiles, n_capsules = n_kernels + 1, shape.d_out * n_each
        size = (n_profiles, n_capsules * d_capsule, self.profiles.d_out)
        self.choice = nn.Parameter(torch.randn(size))
        self.routing = Routing(n_profiles, n_capsules, d=d_capsule, n_words=n_words)
        self.decoder = Decoder(n_each * d_capsule, self.flat.d_out)

    def forward(self, rows: Rows) -> Tensor:
        """Predict the logits of each row, (B, classes)."""
        return self.class_logits(self.capsules(rows))

    def capsules(self, rows: Rows) -> Tensor:
        """The capsules of each class, (B, classes, n_each, T)."""
        profiles = self.profiles(self.flat(rows))
        votes = torch.einsum("bpd,pvd->bpv", profiles, entmax15(self.choice))
        n_classes, n_each, d_capsule = self.sizes
        votes = votes.unflatten(2, (n_classes * n_each, d_capsule))
        return self.routing(votes).unflatten(1, (n_classes, n_each))

    def class_logits(self, capsules: Tensor) -> Tensor:
        """The logit of a class is the sum of the lengths of its capsules."""
        return dropout(capsules.norm(dim=3), 0.2, self.training).sum(2)


class Decoder(nn.Module):
    """Reconstruct a row from the capsules of its class."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.first = AbstractLayer(d_in, 16, n_groups=3, n_ghost=256)
        self.second = AbstractLayer(d_in + 16, 32, n_groups=3, n_ghost=256)
        self.last = nn.Linear(32, d_out)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, d_in) to (B, d_out)."""
        return self.last(self.second(torch.cat([x, self.first(x)], 1)))


class TabCapsLearner(Supervised):
    """The margin loss, plus the error of rows reconstructed from their capsules."""

    module: TabCaps

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.take(batch)
        net = self.module
        capsules = net.capsules(rows)
        own = capsules[torch.arange(len(y), device=y.device), y]  # (B, n_each, T)
        error = (net.decoder(own.flatten(1)) - net.flat(rows)).square().sum(1).mean()
        return margin_loss(net.class_logits(capsules), y) + net.rebuild * error


PEER = Peer(
    name="tabcaps",
    title="TabCaps",
    paper="Chen et al., 2023",
    source="our implementation: there is no package",
    differs="AdamW instead of QHAdam; weights of the best epoch, not of the last; a "
    "higher learning rate unless a study asks for the benchmark's",
    published={"learning_rate": 1e-3},
    make=net_maker("tabcaps", TabCaps, TabCapsLearner),
    tasks=("binclass", "multiclass"),
    defaults={
        "n_each": 3,
        "d_mixed": 16,
        "n_kernels": 16,
        "d_capsule": 16,
        "n_words": 16,
        "rebuild": 1e-3,
        "learning_rate": 0.03,
    },
    space={
        "n_each": Int(1, 5),
        "d_mixed": Int(32, 128),
        "n_kernels": Int(4, 32),
        "d_capsule": Int(4, 32),
        "n_words": Int(16, 64),
        "learning_rate": LogFloat(1e-5, 0.1),
        "weight_decay": LogFloat(1e-6, 1e-3),
    },
)
