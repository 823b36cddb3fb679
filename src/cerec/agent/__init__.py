"""The agent and its co-training with a recommender; everything that learns by torch."""
