"""The house itself: imports, lengths, names."""
