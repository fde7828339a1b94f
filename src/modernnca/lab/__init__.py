"""The laboratory: peers, benchmark, statistics, report and the paper's studies."""
