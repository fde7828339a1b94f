"""Members behind one contract, and how their votes are combined."""
