"""The default recommender: additive in the user's history and in the item's attributes."""
