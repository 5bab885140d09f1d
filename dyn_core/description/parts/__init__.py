"""Masses and inertias from parts: solids, meshes, densities."""
