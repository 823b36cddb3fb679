"""Stage 3: tables and graph to ranked items."""
