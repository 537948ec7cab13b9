"""Up to 100 million records, in memory and on every engine."""
