"""Distances: solved by hand, held against loops, and the laws that each obeys."""

import math

import pytest
import torch

from modernnca.core.distances import DISTANCES, euclidean

METRICS = ["euclidean", "manhattan"]
DIFFERENCES = [*METRICS, "squared-euclidean"]  # those that see q - k alone
INNER = ["euclidean", "squared-euclidean", "cosine", "dot"]  # a rotation is nothing

SLOW = {
    "euclidean": lambda q, k: math.dist(q, k),
    "squared-euclidean": lambda q, k: sum((a - b) ** 2 for a, b in zip(q, k)),  # noqa: B905
    "manhattan": lambda q, k: sum(abs(a - b) for a, b in zip(q, k)),  # noqa: B905
    "cosine": lambda q, k: (
        -math.sumprod(q, k) / math.hypot(*q) / math.hypot(*k)
    ),
    "dot": lambda q, k: -math.sumprod(q, k),
}
