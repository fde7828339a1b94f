"""Rows and shapes for the tests of networks."""

import torch

from modernnca.core.rows import Rows
from modernnca.lab.peers.net_model import TableShape


def make_rows(n_rows=6, *, n_numbers=3, n_plain=1, levels=(2, 3), d_out=2, seed=0):
    """Rows with columns of all kinds, and their shape; the last has unknown levels."""
    generator = torch.Generator().manual_seed(seed)
    starts = torch.tensor([0, *levels]).cumsum(0)[:-1]
    codes = torch.stack(
        [torch.randint(n, (n_rows,), generator=generator) for n in levels] or [], 1
    )
    codes = codes + starts
    codes[-1] = sum(levels)
    rows = Rows(
        torch.randn(n_rows, n_numbers, generator=generator),
        torch.randint(2, (n_rows, n_plain), generator=generator).float(),
        codes,
    )
    return rows, TableShape(n_numbers, n_plain, tuple(levels), d_out)


def onehot(rows, levels):
    """One-hot codes by loops, (B, n_levels)."""
    out = torch.zeros(len(rows.codes), sum(levels))
    for row, codes in enumerate(rows.codes.tolist()):
        for code in codes:
            if code < sum(levels):
                out[row, code] = 1.0
    return out
