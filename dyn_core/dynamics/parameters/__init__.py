"""Regressor and base parameters of a tree."""
