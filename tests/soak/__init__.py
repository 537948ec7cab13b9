"""The soak (`make soak`): as much as an hour can try of what no release, reader or run may ever do."""
