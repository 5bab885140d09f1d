"""URDF files: read, with what mimic joints and extensions say, and written."""
