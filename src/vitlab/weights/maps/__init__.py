"""What each library calls the parts of a model: one table a library, read in both directions.

`names.py` says what a table holds, `links.py` how tensors of theirs and ours become each other, `vit.py` puts a table
and a blueprint together. A library's own file holds its table alone.
"""
