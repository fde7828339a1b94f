"""Draw the picture of the README: one prediction and the rows behind it.

python tools/draw_neighbors.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from modernnca import ModernNCAClassifier

OUT = Path(__file__).parents[1] / "docs" / "images" / "neighbors.png"
INK, MUTED = "#1f2430", "#6b7280"
COLORS = {"malignant": "#c2410c", "benign": "#2563eb"}


def main() -> None:
    """Fit breast cancer, choose an uncertain test row, draw its neighbors."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    X, X_test, y, _ = train_test_split(
        data.data, labels, random_state=0, stratify=labels
    )
    model = ModernNCAClassifier(n_members=1, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X_test)
    place = int(np.argsort(-np.abs(probabilities[:, 0] - 0.75))[-1])
    query = X_test.iloc[[place]]
    found = model.explain(query, n_neighbors=12)

    flat = PCA(2).fit(model.transform(X))
    points, point = (
        flat.transform(model.transform(X)),
        flat.transform(model.transform(query)),
    )
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 10})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4), dpi=144, width_ratios=(1.25, 1)
    )
    for name, color in COLORS.items():
        mask = y == name
        left.scatter(*points[mask].T, s=14, c=color, alpha=0.45, lw=0, label=name)
    for index, share in zip(found.indices[0], found.shares[0], strict=True):
        x = np.stack([point[0], points[index]])
        left.plot(*x.T, color=INK, lw=0.5 + 6 * share, alpha=0.5, zorder=1)
    left.scatter(*point.T, s=190, c="#facc15", marker="*", ec=INK, lw=0.9, zorder=5)
    left.annotate("query", point[0], (8, 8), textcoords="offset points", color=INK)
    left.set_title("The learned space (first two components)", color=INK, loc="left")
    left.legend(frameon=False, loc="best", labelcolor=INK, title="training rows")
    left.set_xticks([])
    left.set_yticks([])

    order = np.arange(len(found.indices[0]))[::-1]
    near = y[found.indices[0]]
    right.barh(order, found.shares[0], color=[COLORS[name] for name in near])
    right.set_yticks(order, [f"row {i}" for i in found.indices[0]], color=MUTED)
    right.set_xlabel("share of the vote", color=INK)
    best = model.predict(query)[0]
    chance = probabilities[place].max()
    right.set_title(f"Prediction: {best} ({chance:.0%})", color=INK, loc="left")
    rest = f"all other rows: {found.rest[0]:.0%}"
    right.text(0.98, 0.04, rest, transform=right.transAxes, ha="right", color=MUTED)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=MUTED)
        axes.spines[["left", "bottom"]].set_color("#d1d5db")
    figure.tight_layout()
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, facecolor="white")


if __name__ == "__main__":
    main()
