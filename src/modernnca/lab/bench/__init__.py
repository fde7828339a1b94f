"""Experiments: tables, splits, jobs and the records of what came out."""
