"""Engines: they count a table in place, without loading it; databases also create the protected table."""
