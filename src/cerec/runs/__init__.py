"""A finished recommender with its data: trained, wrapped, opened, measured."""
