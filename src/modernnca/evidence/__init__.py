"""Evidence: the rows behind predictions, how sure they are, what the data hides."""
