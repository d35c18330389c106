"""scikit-learn's digits: 1,797 real handwritten digits of 8 x 8 pixels inside a wheel, so a first run needs no network.

360 of them are held out for the test, the same ones always; whoever trains never sees them.
"""

import numpy as np

from vitlab.data.sources.source import Samples, Source

TEST_IMAGES = 360


def digits() -> Source:
    """The digits, with their fixed stratified test split."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = np.round(data.images * (255 / 16)).astype(np.uint8)
    keys = tuple(f"digits/{i:04d}" for i in range(len(images)))
    samples = Samples(keys, tuple(int(label) for label in data.target), lambda i: images[i])
    source = Source("digits", tuple(str(name) for name in data.target_names), {"train": samples})
    return source.hold_out("test", TEST_IMAGES, seed=0)
