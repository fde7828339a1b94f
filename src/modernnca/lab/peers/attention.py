"""Multi-head attention, transformer layers, and forward passes in chunks."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout1d, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from modernnca.lab.peers.supervised import EVAL_BATCH_SIZE

Activation = Callable[[Tensor], Tensor]

# Activations that a network may keep for its backward pass; beyond, it checkpoints.
_MAX_ACTIVATIONS = 2**29


class Attention(nn.Module):
    """Multi-head self-attention over tokens: (B, T, d) to (B, T, d).

    For each head softmax(q k' / sqrt(d_head)) v, then a linear layer over all heads.

    >>> Attention(8, n_heads=2)(torch.zeros(5, 3, 8), n_queries=1).shape
    torch.Size([5, 1, 8])
    """

    def __init__(
        self,
        d_token: int,
        *,
        n_heads: int,
        dropout: float = 0.0,
        d_head: int | None = None,
    ) -> None:
        super().__init__()
        if d_head is None and d_token % n_heads:
            raise ValueError(
                f"The heads split a token equally, so {d_token=} must be a multiple "
                f"of {n_heads=}, such as {n_heads * (d_token // n_heads + 1)}."
            )
        self.d_head = d_head or d_token // n_heads
        self.dropout = dropout
        d_heads = n_heads * self.d_head
        self.query = nn.Linear(d_token, d_heads)
        self.key_value = nn.Linear(d_token, 2 * d_heads)
        self.out = nn.Linear(d_heads, d_token)
        for linear in (self.query, self.key_value, self.out):
            nn.init.zeros_(linear.bias)

    def forward(
        self,
        tokens: Tensor,
        *,
        n_queries: int | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """The outputs of the first `n_queries` tokens, or of all.

        Args:
            mask: (T, T) True where the token of the row attends to that of the column.
            causal: each token attends to itself and to those before it.
        """
        keys, values = self._heads(self.key_value(tokens)).chunk(2, 1)  # (B, h, T, e)
        # PAPER: drops each of the T x T weights; here a head drops the value of a token
        # for all queries. With one query this is the same, and no weights are stored.
        dropped = dropout1d(values.flatten(0, 1), self.dropout, self.training)
        attended = scaled_dot_product_attention(
            self._heads(self.query(tokens[:, :n_queries])),
            keys,
            dropped.view_as(values),
            attn_mask=mask,
            is_causal=causal,
        )
        return self.out(attended.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        """Split (B, T, heads * e) into (B, heads, T, e)."""
        return x.unflatten(2, (-1, self.d_head)).transpose(1, 2)


class GLU(nn.Module):
    """Gated linear unit, a * activation(b) for x = (a, b): (..., 2 d) to (..., d).

    >>> GLU(torch.relu)(torch.tensor([2.0, 3.0, -1.0, 5.0]))
    tensor([ 0., 15.])
    """

    def __init__(self, activation: Activation) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """Multiply the first half by the activated second half."""
        value, gate = x.chunk(2, -1)
        return value * self.activation(gate)


def feed_forward(
    d: int, d_hidden: int, activation: Activation, dropout: float
) -> nn.Module:
    """Linear, GLU, dropout, linear: (..., d) to (..., d)."""
    return nn.Sequential(
        nn.Linear(d, 2 * d_hidden),
        GLU(activation),
        nn.Dropout(dropout),
        nn.Linear(d_hidden, d),
    )


class TransformerLayer(nn.Module):
    """Attention and a feed-forward network, pre-norm, with residual connections.

    The first layer of a network may skip the norm before its attention.
    """

    def __init__(
        self,
        d_token: int,
        attention: Attention,
        ffn: nn.Module,
        *,
        dropout: float = 0.0,
        first: bool = False,
    ) -> None:
        super().__init__()
        self.norm = nn.Identity() if first else nn.LayerNorm(d_token)
        self.attention = attention
        self.norm_ffn = nn.LayerNorm(d_token)
        self.ffn = ffn
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        *,
        n_queries: int | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Update the first `n_queries` tokens, or all, and drop the others."""
        attended = self.attention(
            self.norm(tokens), n_queries=n_queries, mask=mask, causal=causal
        )
        tokens = tokens[:, :n_queries] + self.dropout(attended)
        return tokens + self.dropout(self.ffn(self.norm_ffn(tokens)))


def rows_per_chunk(n_tokens: int, *, d_token: int, n_layers: int) -> int:
    """How many rows a transformer may process at once within the memory limit.

    >>> rows_per_chunk(1001, d_token=192, n_layers=3)
    58
    """
    n_activations = 16 * n_tokens * d_token * n_layers  # per row, about
    return max(1, min(EVAL_BATCH_SIZE, _MAX_ACTIVATIONS // n_activations))


def in_chunks(
    function: Callable[[Tensor], Tensor], x: Tensor, chunk_size: int
) -> Tensor:
    """Compute function(x), in chunks of rows if there are more than `chunk_size`.

    Chunks are checkpointed: the backward pass computes them again to save memory.
    """
    if len(x) <= chunk_size:
        return function(x)
    chunks = [
        checkpoint(function, chunk, use_reentrant=False)
        for chunk in x.split(chunk_size)
    ]
    return torch.cat(chunks)
