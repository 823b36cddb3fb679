"""The paper's experiments as data: settings in TOML, results in JSON, pages made of the results."""
