"""Tables to arrays, and predictions back to the labels and units of the table."""
