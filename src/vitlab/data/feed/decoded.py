"""A split whose pictures are decoded as they are asked for, and then kept in a store, or not."""

import hashlib
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from vitlab.data.feed.feed import Batch, Feed, Picture, Statistics, spread
from vitlab.data.feed.store import Store
from vitlab.data.memory import MOST_BAD, statistics
from vitlab.data.pixels import pixels
from vitlab.data.preprocess import Preprocess
from vitlab.data.sources.source import Samples
from vitlab.errors import UserError

_ENOUGH = 100  # to say which share of pictures is bad
_TRIES = 32
_UNKNOWN, _GOOD, _BAD = 0, 1, 2


def complain(sentence: str) -> None:
    """Say on standard error what is wrong with one picture."""
    print(f"  not used: {sentence}", file=sys.stderr)


class TooManyBadError(UserError):
    """Something is wrong with the data rather than with a file."""


class Decoded(Feed):
    """Pictures as they are stored (`whole`) for crops to be cut from, or fitted to the model's size.

    One that cannot be decoded is named once, and another of its class stands in for it: drawn by the draw's own name,
    so that whoever repeats the run, in however many processes, gets the same. Where more than `MOST_BAD` are bad,
    something else is wrong than a file, and that is said instead.
    """

    def __init__(
        self,
        samples: Samples,
        preprocess: Preprocess,
        store: Store,
        whole: bool = False,
        say: Callable[[str], None] = complain,
    ) -> None:
        self.samples, self.preprocess, self.store, self.whole, self.say = samples, preprocess, store, whole, say
        self.parts = samples.parts
        self.keys, self.labels = samples.keys, torch.tensor(samples.labels, dtype=torch.int64)
        self.state, self.complaints, self.lock = bytearray(len(samples)), dict[int, str](), threading.Lock()
        self.seen = 0
        self.before: tuple[str, ...] = ()  # complaints about images that were left out before
        self._sample: tuple[Statistics, str] | None = None

    @property
    def left_out(self) -> tuple[str, ...]:  # type: ignore[override]  # grows as pictures are looked at
        return self.before + tuple(self.complaints[i] for i in sorted(self.complaints))

    @property
    def fingerprint(self) -> str:
        """Of all keys and labels, and of the pixels of some pictures spread over them."""
        digest = hashlib.sha256(self.labels.numpy().tobytes())
        for key in self.keys:
            digest.update(key.encode(errors="surrogateescape") + b"\0")
        digest.update(self._looked_at()[1].encode())
        return digest.hexdigest()[:16]

    def statistics(self) -> Statistics:
        """Of some pictures spread over the split."""
        return self._looked_at()[0]

    def picture(self, position: int, draw: str) -> tuple[Picture, int]:
        for candidate in self._candidates(position, draw):
            if self.state[candidate] == _BAD:
                continue
            try:
                return self._decoded(candidate), candidate
            except TooManyBadError:
                raise
            except UserError as error:
                self._note(candidate, _BAD, str(error))
        raise UserError(f"{self.complaints[position]}; and no other image of its class was found that can be used")

    def batches(self, size: int) -> Iterator[tuple[Batch, Tensor]]:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for start in range(0, len(self), size):
                positions = range(start, min(start + size, len(self)))
                found = [(i, picture) for i, picture in zip(positions, pool.map(self._or_none, positions), strict=True)]
                good = [(i, picture) for i, picture in found if picture is not None]
                if good:
                    images = np.stack([picture.transpose(2, 0, 1) for _, picture in good])
                    yield torch.from_numpy(images), torch.tensor([i for i, _ in good])

    def decode_all(self) -> None:
        """Decode and keep everything now, on all cores."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for _ in pool.map(self._or_none, range(len(self))):
                pass

    def _candidates(self, position: int, draw: str) -> Iterator[int]:
        yield position
        numbers = random.Random(f"{draw}:{position}")  # of a string, Python's generator takes every bit
        same = (self.labels == self.labels[position]).nonzero()[:, 0]
        for _ in range(_TRIES):
            yield int(same[numbers.randrange(len(same))])

    def _or_none(self, position: int) -> Picture | None:
        try:
            return self._decoded(position) if self.state[position] != _BAD else None
        except TooManyBadError:
            raise
        except UserError as error:
            self._note(position, _BAD, str(error))
            return None

    def _decoded(self, position: int) -> Picture:
        found = self.store.get(position)
        if found is None:
            found = self._decode(position)
            self.store.put(position, found)
        if self.state[position] != _GOOD:
            self._note(position, _GOOD)
        return found

    def _decode(self, position: int) -> Picture:
        preprocess = self.preprocess
        found = pixels(self.samples, position, preprocess.channels, preprocess.stored if self.whole else None)
        return preprocess.store(found) if self.whole else _fitted(preprocess, found)

    def _note(self, position: int, state: int, complaint: str = "") -> None:
        """Remember whether a picture is good and name a bad one, once; stop when too many are."""
        with self.lock:
            if self.state[position] != _UNKNOWN:
                return
            self.state[position] = state
            self.seen += 1
            if state == _BAD:
                self.complaints[position] = complaint
            bad, seen = len(self.complaints), self.seen
            last = next(reversed(self.complaints.values()), "")
        if state == _BAD:
            self.say(complaint)
        if bad > MOST_BAD * seen and seen >= min(_ENOUGH, len(self)):
            raise TooManyBadError(f"{bad:,} of {seen:,} images cannot be used, the last because {last}")

    def some(self) -> Batch:
        complaint, found, positions = UserError("there are no images"), [], spread(len(self))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for image in pool.map(self._fitted_or_complaint, positions):
                if isinstance(image, UserError):
                    complaint = image
                else:
                    found.append(image)
        if len(found) < (1 - MOST_BAD) * len(positions) or not found:
            raise UserError(
                f"{len(positions) - len(found):,} of {len(positions):,} images looked at cannot be used, "
                f"the last because {complaint}"
            )
        return torch.stack(found)

    def _looked_at(self) -> tuple[Statistics, str]:
        """What is to be known of pixels, from fitted pictures spread over the split; one that is bad is passed over."""
        if self._sample is None:
            images = self.some()
            self._sample = statistics(images), hashlib.sha256(images.numpy().tobytes()).hexdigest()
        return self._sample

    def _fitted_or_complaint(self, position: int) -> Tensor | UserError:
        try:
            return self.preprocess.fit(pixels(self.samples, position, self.preprocess.channels))
        except UserError as error:
            return error  # named when an epoch comes to it


def _fitted(preprocess: Preprocess, picture: Picture) -> Picture:
    return np.ascontiguousarray(preprocess.fit(picture).permute(1, 2, 0).numpy())
