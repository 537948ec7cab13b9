"""Spark: sessions, and protection in parts on its workers."""
