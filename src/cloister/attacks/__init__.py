"""Simulated attacks: adversaries of increasing knowledge look for original records in the released files."""
