"""What experiments measure: `measure(job)` gives JSON values, `tables(...)` those of its page."""
