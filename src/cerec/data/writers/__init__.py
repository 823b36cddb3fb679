"""Writers of the formats that the readers read."""
