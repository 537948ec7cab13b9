"""Methods that choose labels: one level a column, or levels that differ between classes."""
