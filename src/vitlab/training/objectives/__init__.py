"""What a run minimises: small classes with one method from a batch to a loss and what to log, one a file."""
