"""`python -m vitlab`, and so `torchrun -m vitlab train ...`: the command line."""

from vitlab.cli import main

if __name__ == "__main__":
    main()
