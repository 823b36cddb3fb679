"""Compared systems and explainers, their statistics, and the paper's experiments."""
