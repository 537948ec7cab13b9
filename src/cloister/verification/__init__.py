"""What checks a release folder: the driver of all checkers. Loads no search, no kernel and no method."""
