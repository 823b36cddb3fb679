"""Counterfactual explanations for recommender systems: verified, smallest, on a CPU."""

__version__ = "0.1.0"
