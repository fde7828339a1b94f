"""The same mathematics, faster: fused and streamed on a CPU, Triton on a GPU."""
