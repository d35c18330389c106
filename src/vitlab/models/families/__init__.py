"""Published models, one family a file: a function from a size to a blueprint, and the names people type."""
