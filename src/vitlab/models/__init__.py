"""Blueprints and the assemblies that turn one into a module.

`blueprint.py` is what every description shares, `plain.py` the isotropic assembly, `sizes.py` the table of widths and
depths, `families/` the published models as short functions from a size to a blueprint, `registry.py` their names.
"""
