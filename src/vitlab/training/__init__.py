"""From a source and a blueprint to trained weights.

`recipe.py` says how to train, `plan.py` what one run has resolved, `learner.py` one step of it, `fit.py` the whole;
`checkpoint.py` is a run that stands still on disk, `snapshot.py` takes it out of a live one and puts it back.
"""
