"""Saha and Schiehlen: recursive dynamics of closed chains."""

from .results import compute

__all__ = ["compute"]
