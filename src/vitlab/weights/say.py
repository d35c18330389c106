"""Where it is said what was done to weights on their way in and out."""

import sys
from collections.abc import Callable

Say = Callable[[str], None]


def tell(sentence: str) -> None:
    """Say something on standard error, as commands do."""
    print(f"  {sentence}", file=sys.stderr)
