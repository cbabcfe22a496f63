"""Frozen data, errors with their exit codes, and the artifact's schema. Imports nothing of kcut."""
