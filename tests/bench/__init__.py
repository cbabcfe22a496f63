"""Benchmarks of kcut itself: `python -m tests.bench`. Ratios against a named baseline within one run."""
