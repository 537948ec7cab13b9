"""What a release says of itself, as types: facts, no prose. A shape declares its own sections beside these."""
