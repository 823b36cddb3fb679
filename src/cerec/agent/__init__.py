"""Stage 5: walk, reward, policy gradient."""
