"""Robots with closed chains."""
