"""The application, ``cloister ui``: pages for the functions of the library. Computes nothing of its own."""
