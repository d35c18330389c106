"""Other people's checkpoints, both ways, and fitting."""
