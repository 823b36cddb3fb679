"""A generated world with planted tastes."""
