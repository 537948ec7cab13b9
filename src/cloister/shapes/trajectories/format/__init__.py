"""What a release of this shape contains: its manifest, settings and derived facts. Method and verifier both read it."""
