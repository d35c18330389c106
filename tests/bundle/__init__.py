"""A trained model on disk."""
