"""Trials that kcut did not run: from the text of a file to cells, each with its cohorts and its decision. Pure."""
