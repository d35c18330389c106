"""Our models against other people's: the same weights and images in, the same numbers out."""
