"""Files of weights from anyone, opened so that no code of theirs runs and no memory is taken before sizes are known."""
