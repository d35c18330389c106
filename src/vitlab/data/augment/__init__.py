"""Training images varied, a whole batch at once on the device: one kind a file, `step.py` what they share.

A recipe lists steps in their order, as data: [{"kind": "pad_crop", "pixels": 4}, {"kind": "flip"}, {"kind": "mix"}].
Each draws from the generator of its batch, so a step of training repeats itself exactly, after a resume too.
"""
