"""A stand-in for GitHub: its state, and an HTTP server for it."""
