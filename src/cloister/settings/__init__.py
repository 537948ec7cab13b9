"""Settings: how they are declared, read from TOML, and what all readers of data have in common."""
