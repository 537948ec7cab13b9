"""How a release of this shape is checked, from its files, by code that shares nothing with the method."""
