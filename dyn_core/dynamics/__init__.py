"""The kernels: dynamics of trees, closed loops and platforms, over packed records."""
