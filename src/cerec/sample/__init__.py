"""Stage 4: where a walk may go, and with what probability."""
