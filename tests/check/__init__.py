"""What `vitlab check` finds, and that it accuses nothing else."""
