"""Batches fed to the model: where pictures are kept (memory, a cache on disk, nowhere), read ahead by all cores.

`choose.py` decides where a split is kept and says why; `feed.py` is what every kept split can do; `loader.py` makes
batches of it. Wherever pictures are kept, the same seed gives the same batches, to the last bit.
"""
