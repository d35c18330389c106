"""What stands between products of matrices, in C++ of our own: on a CPU it takes half of a small ViT's training step.

`passes.cpp` has dropout, GELU with dropout and layer normalisation, each one pass over memory where torch makes three
or more; `softmax.cpp` has attention whose map never leaves a core's cache. The system's compiler builds them for this
very processor in a few seconds (`library.py`). They are used while training on a CPU where a plan says so, and
without a compiler, on a GPU, in evaluation, under torch.compile and in exports the same is computed by torch.
"""
