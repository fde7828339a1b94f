"""Benchmark experiments: datasets, splits, jobs and their records."""
