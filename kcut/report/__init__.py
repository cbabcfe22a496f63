"""Reports: an artifact in, text out. `progress` is the one effect."""
