"""The application, ``cloister ui``: pages over what the library does. Computes nothing of its own."""
