"""Spark: sessions, and what is protected by parts on its workers."""
