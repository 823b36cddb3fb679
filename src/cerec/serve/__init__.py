"""Stage 9: all of it to people."""
