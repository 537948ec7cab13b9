"""What analysts get out of releases, compared with the original."""
