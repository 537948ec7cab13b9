"""What attackers learn from releases."""
