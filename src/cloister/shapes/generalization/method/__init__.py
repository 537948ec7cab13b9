"""How a release of this shape is made. Imports nothing of the verifier."""
