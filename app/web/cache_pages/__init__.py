"""What the cache did for each turn of one conversation: the same pages for its owner and for operators."""
