"""Seeing: recordings and explanations against naive versions and other libraries."""
