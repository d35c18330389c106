"""Where images come from and how they become tensors.

sources/ -> decode.py -> feed/ (kept in memory, in a cache or nowhere; crops) -> augment/ (varied) -> preprocess.py

`origin.py` is what a person typed, `splits.py` what is held out of it, `order.py` the batches of an epoch, `module.py`
what Lightning asks for; `checks/` looks for what is wrong with data before a training finds out.
"""
