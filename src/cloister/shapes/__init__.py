"""The shapes of patient data: each a folder with the same three doors: format, method, verify."""
