"""Code sets by generalization: codes are released in sets that stand for any of their members, or not at all."""
