"""Stage 6: decisions to weights."""
