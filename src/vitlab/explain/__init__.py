"""What a trained model looks at, and whether to believe the picture.

Read in this order: `record` (what the attention cores saw, from hooks, the model untouched), `grids` (maps of every
kind brought to the tokens of the image), `methods/` (one explanation a file), `fidelity` (which of them to believe),
`look` (all of it about one image), `anatomy/` (the model itself, over many images), `epochs` (how that came about),
`drawing/` (pictures). Layers and heads are numbered from 0, as in the code.
"""
