"""Benchmarks that others published: mechanisms with closed chains, each with its source and its reference figure."""

from .results import compute as compute
