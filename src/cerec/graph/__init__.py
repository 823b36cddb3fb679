"""Stage 2: tables to the collaborative knowledge graph and its node vectors."""
