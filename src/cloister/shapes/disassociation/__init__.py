"""The method disassociation: records cut into chunks, its release form, and the verifier of that form."""
