"""What moves the weights: `choice.py` says which optimizer, `groups.py` which weights go where, the rest does it."""
