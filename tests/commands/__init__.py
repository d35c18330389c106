"""The command line and the functions behind it."""
