"""What a trained model has become, seen over many images: its heads, positions, filters, and what each layer knows.

One figure or table a file; `everything.py` puts them together for `vitlab explain RUN --model`.
"""
