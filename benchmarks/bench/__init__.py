"""The records that benchmarks move."""
