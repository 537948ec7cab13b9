"""Settings: their declaration, parsing from TOML, and the common settings of all readers of data."""
