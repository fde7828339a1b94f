"""The width of an embedding, which does not depend on which members vote in the end.

A step after `transform` in a pipeline needs as many columns whether all networks were
trained, or some, or a baseline was better.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from modernnca.core.network import InputShape
from modernnca.ensemble.embedding_member import EmbeddingMember
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.ensemble.member import Member
from modernnca.ensemble.network_member import NetworkMember


def embedding_width(
    prototypes: Sequence[Member],
    fitted: Sequence[EmbeddingMember],
    config: EnsembleConfig,
    shape: InputShape,
) -> int:
    """The width of all networks side by side, be they trained or not.

    Without a network, it is that of the fitted members.
    """
    options = [each.configure(config) for each in _networks(prototypes)]
    dims = [min(o.dim, shape.width) if o.cap_dim else o.dim for o in options]
    return sum(dims) or sum(member.keys_.shape[1] for member in fitted)


def _networks(prototypes: Sequence[Member]) -> list[NetworkMember]:
    return [each for each in prototypes if isinstance(each, NetworkMember)]


def to_width(embedded: Tensor, width: int) -> Tensor:
    """Embeddings (N, D) in another width, in which distances are (about) the same.

    Zeros are appended; if there are too many columns, they are projected at random.

    >>> to_width(torch.ones(1, 2), 4)
    tensor([[1., 1., 0., 0.]])
    """
    n_rows, n_columns = embedded.shape
    if n_columns <= width:
        return torch.cat([embedded, embedded.new_zeros(n_rows, width - n_columns)], 1)
    axes = np.random.RandomState(0).randn(n_columns, width) / np.sqrt(width)
    return embedded @ torch.from_numpy(axes).to(embedded)
