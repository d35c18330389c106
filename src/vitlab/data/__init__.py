"""Where images come from and how they become tensors.

sources/ -> decode.py -> preprocess.py -> memory.py (uint8, one size) -> module.py -> augment.py (on the device)
"""
