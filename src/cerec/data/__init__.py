"""Stage 1: files and frames to frozen, checked tables."""
