"""Gradients of a class's logit with respect to the pixels, by captum (extra `explain`).

`gradient`: how strongly a pixel could move the logit, of either sign (Simonyan et al. 2014). `smooth_gradient`: the
same, averaged over the image with noise added (Smilkov et al. 2017). `input_times_gradient`: the first-order share of
each pixel in the logit, signed (Shrikumar et al. 2016), against the mean colour of the training images, which is zero
after normalising.
"""

import warnings
from types import ModuleType

import torch
from torch import Tensor

from vitlab.errors import UserError
from vitlab.explain.methods.method import Heat, Images, Targets
from vitlab.explain.record import evaluating
from vitlab.models.blueprint import Model

_NOISE, _DRAWS = 0.15, 16  # of the spread of the pixels, and how often


def gradient(model: Model, images: Images, targets: Targets) -> Heat:
    """The gradient's absolute value, the largest over the channels."""
    with evaluating(model), _quiet():
        found: Tensor = captum().Saliency(model).attribute(_leaf(images), target=targets, abs=True)
    return found.amax(dim=1)


def smooth_gradient(model: Model, images: Images, targets: Targets) -> Heat:
    """The gradient's absolute value, averaged over noisy copies; the same noise each time."""
    attr = captum()
    spread = _NOISE * float(images.max() - images.min())
    with evaluating(model), _quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found: Tensor = attr.NoiseTunnel(attr.Saliency(model)).attribute(
            _leaf(images), target=targets, abs=True, nt_samples=_DRAWS, nt_samples_batch_size=1, stdevs=spread
        )
    return found.amax(dim=1)


def input_times_gradient(model: Model, images: Images, targets: Targets) -> Heat:
    """Pixel times gradient, summed over the channels."""
    with evaluating(model), _quiet():
        found: Tensor = captum().InputXGradient(model).attribute(_leaf(images), target=targets)
    return found.sum(dim=1).detach()


def captum() -> ModuleType:
    """captum's methods, or one sentence how to get them."""
    try:
        import captum.attr
    except ImportError:
        raise UserError("gradient methods need captum; pip install 'vitlab[explain]' brings it") from None
    return captum.attr


def _leaf(images: Images) -> Tensor:
    return images.detach().clone().requires_grad_()


class _quiet(warnings.catch_warnings):  # noqa: N801
    """captum's warnings about what it does anyway."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
