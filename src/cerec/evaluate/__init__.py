"""Stage 8: recommendations and explanations to numbers."""
