"""Numbers about an attacker: how likely patients are to be found in data as they are, or as released."""
