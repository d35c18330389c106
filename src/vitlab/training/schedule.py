"""The learning rate by step: a straight line up, then down in the shape that the recipe names."""

from collections.abc import Callable

from vitlab.training.recipe import Recipe


def warmup_steps(recipe: Recipe, steps: int) -> int:
    """Steps of warmup; a figure below 1 is a share of all steps, and warmup never takes more than half of them."""
    wanted = recipe.warmup * steps if recipe.warmup < 1 else recipe.warmup
    return min(round(wanted), steps // 2)


def factor(recipe: Recipe, steps: int) -> Callable[[int], float]:
    """What the rate is multiplied with at a step from 0 to steps - 1.

    While warming up (s + 1) / w; after it last + (1 - last) decay((s - w) / (n - w)), where last is last_rate / rate.
    """
    warmup, last = warmup_steps(recipe, steps), recipe.last_rate / recipe.rate

    def at(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        way = min((step - warmup) / max(steps - warmup, 1), 1.0)
        return last + (1 - last) * recipe.decay.at(way)

    return at


def waiting_factor(recipe: Recipe, steps: int) -> Callable[[int], float]:
    """The same for weights that wait while the head learns alone: nothing, then a schedule of what is left."""
    alone = round(recipe.head_first * steps)
    after = factor(recipe, steps - alone)
    return lambda step: after(step - alone) if step >= alone else 0.0
