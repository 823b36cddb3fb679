"""Results for readers: tables, charts and pages."""
