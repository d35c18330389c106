"""One explanation a file, all with one signature; `method.py` is what they share, `known.py` knows them by name."""
