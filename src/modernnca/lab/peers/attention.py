"""Attention: tokens that look at tokens, and the layers of nets made of it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout1d, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from modernnca.lab.peers.supervised import N_AT_ONCE

Bend = Callable[[Tensor], Tensor]

# Numbers that a net may remember for its backward pass before it computes them again.
_MOST_CELLS = 2**29


class Attention(nn.Module):
    """Every token asks, every token tells: (B, T, d) to (B, T, d).

    For each head softmax(q k' / sqrt(d_head)) v, and a linear layer over all heads.

    >>> Attention(8, n_heads=2)(torch.zeros(5, 3, 8), n_asking=1).shape
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
                f"The heads share a token in equal parts, so {d_token=} must be a "
                f"multiple of {n_heads=}, such as {n_heads * (d_token // n_heads + 1)}."
            )
        self.d_head = d_head or d_token // n_heads
        self.dropout = dropout
        d_heads = n_heads * self.d_head
        self.asks = nn.Linear(d_token, d_heads)
        self.tells = nn.Linear(d_token, 2 * d_heads)  # keys and values
        self.out = nn.Linear(d_heads, d_token)
        for linear in (self.asks, self.tells, self.out):
            nn.init.zeros_(linear.bias)

    def forward(
        self,
        tokens: Tensor,
        *,
        n_asking: int | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Give each of the first `n_asking` tokens, or all, what it hears.

        Args:
            mask: (T, T) True where the asking token, of the row, hears the other.
            causal: each token hears itself and those before it.
        """
        keys, values = self._heads(self.tells(tokens)).chunk(2, 1)  # (B, heads, T, e)
        # PAPER: each of the T x T weights may be dropped; here what a token tells a
        # head, for all that ask: the same where one asks, and no weight is ever stored.
        told = dropout1d(values.flatten(0, 1), self.dropout, self.training)
        heard = scaled_dot_product_attention(
            self._heads(self.asks(tokens[:, :n_asking])),
            keys,
            told.view_as(values),
            attn_mask=mask,
            is_causal=causal,
        )
        return self.out(heard.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        """Cut (B, T, heads * e) into (B, heads, T, e)."""
        return x.unflatten(2, (-1, self.d_head)).transpose(1, 2)


class Gated(nn.Module):
    """One half of the numbers times the other, bent: (..., 2 d) to (..., d).

    >>> Gated(torch.relu)(torch.tensor([2.0, 3.0, -1.0, 5.0]))
    tensor([ 0., 15.])
    """

    def __init__(self, bend: Bend) -> None:
        super().__init__()
        self.bend = bend

    def forward(self, x: Tensor) -> Tensor:
        """Multiply the halves."""
        plain, gate = x.chunk(2, -1)
        return plain * self.bend(gate)


def feed_forward(d: int, d_hidden: int, bend: Bend, dropout: float) -> nn.Module:
    """Linear, gate, dropout, linear: (..., d) to (..., d)."""
    return nn.Sequential(
        nn.Linear(d, 2 * d_hidden),
        Gated(bend),
        nn.Dropout(dropout),
        nn.Linear(d_hidden, d),
    )


class Layer(nn.Module):
    """Attention, then what each token does alone, both added to what was there.

    Both read normalized tokens; the first layer of a net may read them as they come.
    """

    def __init__(
        self,
        d_token: int,
        attention: Attention,
        alone: nn.Module,
        *,
        dropout: float = 0.0,
        first: bool = False,
    ) -> None:
        super().__init__()
        self.norm = nn.Identity() if first else nn.LayerNorm(d_token)
        self.attention = attention
        self.norm_alone = nn.LayerNorm(d_token)
        self.alone = alone
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        tokens: Tensor,
        *,
        n_asking: int | None = None,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Change the first `n_asking` tokens, or all, and leave out the others."""
        heard = self.attention(
            self.norm(tokens), n_asking=n_asking, mask=mask, causal=causal
        )
        tokens = tokens[:, :n_asking] + self.dropout(heard)
        return tokens + self.dropout(self.alone(self.norm_alone(tokens)))


def rows_at_once(n_tokens: int, *, d_token: int, n_layers: int) -> int:
    """How many rows such a net may read at once, by the memory that they need.

    >>> rows_at_once(1001, d_token=192, n_layers=3)
    58
    """
    cells = 16 * n_tokens * d_token * n_layers  # of a row, about
    return max(1, min(N_AT_ONCE, _MOST_CELLS // cells))


def in_parts(net: Callable[[Tensor], Tensor], tokens: Tensor, n_at_once: int) -> Tensor:
    """Compute net(tokens), some rows at a time where they are too many.

    The parts are computed again in the backward pass: time for memory.
    """
    if len(tokens) <= n_at_once:
        return net(tokens)
    parts = [
        checkpoint(net, part, use_reentrant=False) for part in tokens.split(n_at_once)
    ]
    return torch.cat(parts)
