"""Walks over the graph: drawn, or the likeliest (numba only)."""
