"""Everything that reaches below numba's public interface."""
