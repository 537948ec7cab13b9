"""Types for the manifest of a release: facts, no prose. Each shape declares further sections."""
