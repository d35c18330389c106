"""What is measured of a model, against the measuring written out."""
