"""The door: scikit-learn's contract."""
