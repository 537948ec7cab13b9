"""The application, ``cloister ui``: pages over what the library does. Computes nothing; nothing imports it but its command."""
