"""A trained model that teaches another: it sees what the student sees, in its own size, channels and scale of colours.

Where nothing varies the images, its answers to all of them are computed once and remembered.
"""

import hashlib

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from vitlab.bundle import Bundle
from vitlab.data.feed.feed import Feed
from vitlab.data.preprocess import Preprocess
from vitlab.errors import UserError
from vitlab.training.machine import autocast

_GREY = (0.299, 0.587, 0.114)  # of red, green and blue, as Pillow has it
_BATCH = 256


class Teacher:
    """From the student's images to the teacher's logits, in the order of the student's classes."""

    def __init__(
        self, bundle: Bundle, classes: tuple[str, ...], student: Preprocess, precision: str = "float32"
    ) -> None:
        if missing := [name for name in classes if name not in bundle.classes]:
            raise UserError(
                f"the teacher {bundle.card.blueprint.name} does not know {', '.join(map(repr, missing[:3]))}"
                f"{f' and {len(missing) - 3} more' if len(missing) > 3 else ''}; take one trained on the same classes"
            )
        self.model = bundle.model.eval().requires_grad_(False)
        self.own, self.student, self.precision = bundle.card.preprocess, student, precision
        self.places = torch.tensor([bundle.classes.index(name) for name in classes])

    def check(self) -> None:
        """Refuse what could not be shown to it, before a run."""
        self.seen(torch.zeros(1, self.student.channels, *self.student.size))

    @torch.no_grad()
    def __call__(self, images: Float[Tensor, "B channels X Y"]) -> Float[Tensor, "B classes"]:
        model = self.model.to(images.device)
        with autocast(images.device.type, self.precision):
            logits: Tensor = model(self.seen(images))
        return logits.float()[:, self.places.to(images.device)]

    def seen(self, images: Float[Tensor, "B channels X Y"]) -> Float[Tensor, "B other x y"]:
        """The student's normalised images as the teacher takes them."""
        if self.own == self.student and tuple(images.shape[2:]) == self.own.size:
            return images
        mean, std = (
            torch.tensor(v, device=images.device).view(-1, 1, 1) for v in (self.student.mean, self.student.std)
        )
        plain = _in_channels(images * std + mean, self.own.channels)
        if tuple(plain.shape[2:]) != self.own.size:
            plain = functional.interpolate(plain, size=self.own.size, mode="bilinear", antialias=True)
        return self.own.normalise(255 * plain)


class Remembering:
    """A teacher whose answers to these pictures, unvaried, were computed once; of others it is asked as ever."""

    def __init__(self, teacher: Teacher, pictures: Feed, device: str) -> None:
        self.teacher = teacher
        answers, digests = [], list[bytes]()
        for some, _ in pictures.batches(_BATCH):
            images = teacher.student.normalise(some.to(device))
            answers.append(teacher(images).cpu())
            digests += _digests(images)
        self.logits = torch.cat(answers)
        self.places = {digest: place for place, digest in enumerate(digests)}

    def __call__(self, images: Float[Tensor, "B channels X Y"]) -> Float[Tensor, "B classes"]:
        digests = _digests(images)
        if not all(digest in self.places for digest in digests):
            return self.teacher(images)
        return self.logits[[self.places[digest] for digest in digests]].to(images.device)


def _digests(images: Tensor) -> list[bytes]:
    """What tells one image from any other."""
    return [hashlib.blake2b(image.tobytes(), digest_size=16).digest() for image in images.cpu().numpy()]


def _in_channels(images: Tensor, channels: int) -> Tensor:
    """Grey to colours and back; other numbers of channels are not guessed at."""
    if images.shape[1] == channels:
        return images
    if images.shape[1] == 1:
        return images.expand(-1, channels, -1, -1)
    if images.shape[1] == 3 and channels == 1:
        return (images * torch.tensor(_GREY, device=images.device).view(1, 3, 1, 1)).sum(dim=1, keepdim=True)
    raise UserError(
        f"the teacher takes {channels} channels and the images have {images.shape[1]}; take another teacher"
    )
