"""The commands under `cerec bench`."""
