"""The search for explanations toward an item that a proposer names, which the bench compares."""
