"""Measured facts about a model: how often it is right, what it costs."""
