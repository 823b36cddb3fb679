"""Simple rivals, in closed form or quick. Each fits on (train matrix, facts, seed, settings)."""
