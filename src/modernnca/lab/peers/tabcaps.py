"""TabCaps: profiles of a row vote for capsules; the longest capsules name the class.

Shapes: B rows, d columns, P profiles of a row, S capsules (some for each class), T
numbers in a capsule.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, normalize, one_hot

from modernnca.core.rows import Rows
from modernnca.lab.peers.card import Peer
from modernnca.lab.peers.danets import AbstractLayer
from modernnca.lab.peers.inputs import Flat
from modernnca.lab.peers.net_model import TableShape, net_maker
from modernnca.lab.peers.sparse import entmax15
from modernnca.lab.peers.supervised import Supervised
from modernnca.tune.space import Int, LogFloat


def margin_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Ask for 0.9 or more of the true class and 0.1 or less of each other.

    PAPER: the margins are of lengths; as in the authors' code, they are of the softmax
    of lengths, so that what is learned and what is predicted are the same.

    >>> margin_loss(torch.zeros(1, 2), torch.tensor([0]))  # 0.4^2 + 0.4^2 / 2
    tensor(0.2400)
    """
    p = logits.softmax(1)
    true = one_hot(y, p.shape[1])
    missed = (0.9 - p).relu().square()
    strayed = (p - 0.1).relu().square()
    return (true * missed + 0.5 * (1 - true) * strayed).sum(1).mean()


class Profiles(nn.Module):
    """The columns and mixtures of them, through kernels: (B, d) to (B, P, d_out).

    Each kernel stresses the columns in its own way; the last profile is the row itself.
    """

    def __init__(self, d_in: int, *, d_mixed: int, n_kernels: int) -> None:
        super().__init__()
        self.mix = nn.Linear(d_in, d_mixed)
        self.d_out, self.n_profiles = d_in + d_mixed, n_kernels + 1
        self.kernels = nn.Parameter(torch.randn(n_kernels, self.d_out))
        self.norm = nn.LayerNorm(self.d_out)

    def forward(self, x: Tensor) -> Tensor:
        """See each row from all sides."""
        x = torch.cat([x, self.mix(x)], 1)[:, None]
        return self.norm(torch.cat([x * self.kernels, x], 1))


class Routing(nn.Module):
    """Votes become capsules in one go: those near the mean vote weigh more.

    Votes are compared as bags of words: how much of each learned word is in them.
    """

    def __init__(self, n_profiles: int, n_capsules: int, *, d: int, n_words: int):
        super().__init__()
        self.words = nn.Parameter(torch.rand(n_words, d))
        self.reach = nn.Parameter(torch.rand(n_profiles, n_capsules))
        self.norm = nn.LayerNorm(d)

    def weights(self, votes: Tensor) -> Tensor:
        """What each vote (B, P, S, T) weighs, (B, P, S); they sum to one over P."""
        bags = (votes @ normalize(self.words, dim=1).T).sigmoid()  # (B, P, S, words)
        apart = (bags - bags.mean(1, keepdim=True)).square().mean(3)
        return (self.reach.square() - apart).relu().softmax(1)

    def forward(self, votes: Tensor) -> Tensor:
        """From (B, P, S, T) to (B, S, T)."""
        return self.norm((self.weights(votes)[..., None] * votes).sum(1))


class TabCaps(nn.Module):
    """Profiles, votes, capsules; and a way back from the capsules to the row.

    Args:
        n_each: capsules for each class.
        d_mixed: mixtures of columns beside the columns.
        rebuild: the weight of the squared error of the rebuilt row.
    """

    n_at_once = 1024

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
        """Answer the rows: (B, classes)."""
        return self.answer(self.capsules(rows))

    def capsules(self, rows: Rows) -> Tensor:
        """The capsules of each class, (B, classes, n_each, T)."""
        profiles = self.profiles(self.flat(rows))
        votes = torch.einsum("bpd,pvd->bpv", profiles, entmax15(self.choice))
        n_classes, n_each, d_capsule = self.sizes
        votes = votes.unflatten(2, (n_classes * n_each, d_capsule))
        return self.routing(votes).unflatten(1, (n_classes, n_each))

    def answer(self, capsules: Tensor) -> Tensor:
        """A class is as likely as its capsules are long; lengths are logits."""
        return dropout(capsules.norm(dim=3), 0.2, self.training).sum(2)


class Decoder(nn.Module):
    """The row again, from the capsules of its class."""

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.first = AbstractLayer(d_in, 16, n_groups=3, n_ghost=256)
        self.second = AbstractLayer(d_in + 16, 32, n_groups=3, n_ghost=256)
        self.last = nn.Linear(32, d_out)

    def forward(self, x: Tensor) -> Tensor:
        """From (B, d_in) to (B, d_out)."""
        return self.last(self.second(torch.cat([x, self.first(x)], 1)))


class Capsules(Supervised):
    """The margin loss, and the error of rows rebuilt from their class's capsules."""

    module: TabCaps

    def loss(self, batch: Tensor) -> Tensor:
        """The loss of the rows numbered in `batch`."""
        rows, y = self.examples(batch)
        net = self.module
        capsules = net.capsules(rows)
        own = capsules[torch.arange(len(y), device=y.device), y]  # (B, n_each, T)
        error = (net.decoder(own.flatten(1)) - net.flat(rows)).square().sum(1).mean()
        return margin_loss(net.answer(capsules), y) + net.rebuild * error


PEER = Peer(
    name="tabcaps",
    title="TabCaps",
    paper="Chen et al., 2023",
    source="written here: there is no package",
    differs="AdamW for QHAdam; the weights of the best epoch, not of the last",
    make=net_maker("tabcaps", TabCaps, Capsules),
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
