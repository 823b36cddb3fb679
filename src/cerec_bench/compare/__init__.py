"""One table for all systems: same split, same tuning budget, validation decides, test once."""
