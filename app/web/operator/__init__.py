"""The operator's pages: what the cache saved and lost, why, and what to do about it."""
