"""Kernels of parallel robots: a platform and its legs."""
