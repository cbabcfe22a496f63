"""The only doors to processes, git, the disk and the clock."""
