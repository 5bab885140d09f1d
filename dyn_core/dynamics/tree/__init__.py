"""Kernels for trees of rigid bodies."""
