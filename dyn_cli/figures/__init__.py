"""Plots and animations."""
