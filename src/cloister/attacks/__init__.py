"""Simulated attacks: original records are looked for in the released files by adversaries of growing knowledge."""
