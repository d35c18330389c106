"""The vocabulary: one slot of a model per file, its description beside the module it builds.

A file holds the slot (an abstract description), the parts that fill it, and their modules; a part that is more than a
few lines has a file of its own (`tower` among the patches, `window` among the cores). Nothing here knows about
models, data or training; a part may use torch, pydantic, jaxtyping and other parts.

Shapes, in every annotation of this room:

    B  images in a batch          H  heads                     R, C  rows and columns of the patch grid
    N  tokens (P + L)             E  width of a head           L     patches (R * C)
    M  keys, where not N          D  width of the model        P     prefix tokens (class, distillation, registers)
                                                               X, Y  height and width of an image, in pixels
"""
