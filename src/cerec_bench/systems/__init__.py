"""The compared systems of the paper's tables and the reference lines, each from its own paper."""
