"""One file a verb: a plain typed function that is the Python call and, through tyro, the command.

A command checks what it can at once, imports what is heavy only then, and returns a result; `cli.py` prints it.
"""
