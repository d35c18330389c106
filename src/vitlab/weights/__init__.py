"""Other people's checkpoints, both ways, and fitting weights to other sizes.

`load.py` opens any source as a bundle, `source.py` says what may be one; `reading/` opens files of strangers; `maps/`
says what each library calls the parts of a model; `libraries/` reads and writes each library's configuration; `fit.py`
makes weights fit another image size, patch size, number of channels or classes; `hub.py` fetches; `catalogue.py` lists
what is worth fetching.
"""
