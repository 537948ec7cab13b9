"""What tests, demos and users' own tests need: made-up hospitals."""

from cloister.testing.hospital import hospital_patients

__all__ = ["hospital_patients"]
