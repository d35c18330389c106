"""How far a measured share may be from the true one. Reading this file imports no torch."""

import math

_Z = 1.959964  # standard deviations that hold 95 % of a normal distribution


def wilson(right: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval for a share: sound near 0 and 1 and for few images, where the usual one is not."""
    if not count:
        return 0.0, 1.0
    share, spread = right / count, _Z * _Z / count
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return max(middle - half, 0.0), min(middle + half, 1.0)
