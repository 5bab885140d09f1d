"""Benchmarks, side by side with peers in the same run."""
