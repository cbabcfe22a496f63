"""Pure statistics, computed exactly, in plain Python."""
