"""Wang, Gosselin and Cheng: virtual springs."""

from .four_bar import compute

__all__ = ["compute"]
