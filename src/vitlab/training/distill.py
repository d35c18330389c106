"""What a student takes from a teacher, as data. Reading this file imports no torch, as reading a recipe does not."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from vitlab.parts.part import Part

if TYPE_CHECKING:
    from torch import Tensor


class Distill(Part, slot=True):
    """How the teacher's logits become a loss; it has `share` of the whole, the labels have the rest."""

    share: float = Field(default=0.5, gt=0, le=1)

    @abstractmethod
    def loss(self, logits: "Tensor", taught: "Tensor") -> "Tensor":
        """The loss of a student's logits, given the teacher's."""


class Hard(Distill):
    """The teacher's likeliest class as a label (Touvron et al. 2021, DeiT, equation 3): CE(z_s, argmax z_t)."""

    kind: Literal["hard"] = "hard"

    def loss(self, logits: "Tensor", taught: "Tensor") -> "Tensor":
        from torch.nn import functional

        return functional.cross_entropy(logits, taught.argmax(dim=1))


class Soft(Distill):
    """All of its probabilities, softened (Hinton et al. 2015; DeiT, equation 2): t^2 KL(p(z_t / t) || p(z_s / t))."""

    kind: Literal["soft"] = "soft"
    temperature: float = Field(default=3.0, gt=0, le=1_000)

    def loss(self, logits: "Tensor", taught: "Tensor") -> "Tensor":
        from torch.nn import functional

        student = (logits / self.temperature).log_softmax(dim=1)
        teacher = (taught / self.temperature).log_softmax(dim=1)
        far = functional.kl_div(student, teacher, reduction="batchmean", log_target=True)
        return self.temperature**2 * far
