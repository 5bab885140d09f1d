"""Closed chains: their closure, and their dynamics by formulations that check each other."""
