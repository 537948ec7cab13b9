"""Tests of the room `hierarchy`."""
