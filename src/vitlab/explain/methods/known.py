"""The methods by name, in the order in which tables and pages show them."""

from collections.abc import Sequence

from vitlab.errors import UserError, nearest
from vitlab.explain.methods import attention, chance, gradcam, gradients, integrated, occlusion, rollout, weighted
from vitlab.explain.methods.method import Method

METHODS = {
    each.name: each
    for each in (
        Method("attention", attention.last_layer),
        Method("rollout", rollout.rollout),
        Method("weighted-rollout", weighted.weighted_rollout),
        Method("grad-cam", gradcam.grad_cam),
        Method("gradient", gradients.gradient),
        Method("smooth-gradient", gradients.smooth_gradient),
        Method("input-gradient", gradients.input_times_gradient),
        Method("integrated-gradients", integrated.integrated_gradients),
        Method("occlusion", occlusion.occlusion),
    )
}
RANDOM = Method("random", chance.random)  # what every other has to beat


def chosen(names: Sequence[str] = ()) -> tuple[Method, ...]:
    """The methods of these names, or all of them."""
    for name in names:
        if name not in METHODS:
            raise UserError(f"no method {name!r}{nearest(name, METHODS)}")
    return tuple(METHODS[name] for name in dict.fromkeys(names or METHODS))
