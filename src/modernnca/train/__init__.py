"""Training: the one loop, optimizers, early stopping, weight averaging. No method."""
