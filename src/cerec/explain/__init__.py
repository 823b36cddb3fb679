"""Stage 7: weights to verified explanations."""
