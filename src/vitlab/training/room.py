"""How many images fit into memory at a time, and in how many parts a batch is computed for that."""

import torch

from vitlab.data.available import available_memory
from vitlab.errors import UserError
from vitlab.models.blueprint import Blueprint
from vitlab.models.cost import Memory, memory

LARGEST_MICRO_BATCH = 256  # more at a time do not make a step faster
TAKEN = 0.8  # of what is free: a count leaves out what code and batches take


def free(device: str, processes: int = 1) -> int | None:
    """Bytes that each of the processes here may take on its device; None where nobody says."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    there = available_memory()
    return None if there is None else there // processes


def needed(counted: Memory, average: bool) -> int:
    """Bytes of a step, with those of a moving average of the weights."""
    return counted.total + (counted.weights if average else 0)


def fitting(blueprint: Blueprint, precision: str, batch: int, average: bool, room: int | None) -> int:
    """How many images of a batch fit at a time; 0 where none does."""
    most = min(batch, LARGEST_MICRO_BATCH)
    if room is None:
        return most
    few = min(most, 2)
    all_of_them = needed(memory(blueprint, most, precision), average)
    if all_of_them <= TAKEN * room:
        return most
    if most == few:
        return 0
    least = needed(memory(blueprint, few, precision), average)
    each = (all_of_them - least) / (most - few)  # activations, which grow with the images
    return max(int(few + (TAKEN * room - least) / each), 0)


def parts(asked: int | None, batch: int, fit: int) -> tuple[int, str]:
    """In how many parts a batch is computed, and why: equal ones where there are sensible ones."""
    if asked is not None:
        if asked > batch:
            raise UserError(
                f"a batch of {batch} images cannot be split into {asked} parts; take a smaller --accumulate"
            )
        if batch % asked:
            fitting = [parts for parts in range(1, batch + 1) if batch % parts == 0]
            near = sorted(sorted(fitting, key=lambda parts: abs(parts - asked))[:4])
            raise UserError(
                f"a batch of {batch} images is not {asked} equal parts; take an --accumulate of "
                f"{', '.join(map(str, near))}, or another --batch"
            )
        return asked, "asked for"
    at_once = fit or LARGEST_MICRO_BATCH  # where not one fits, parts are no help
    fewest = -(-batch // at_once)
    found = next(parts for parts in range(fewest, batch + 1) if batch % parts == 0)
    if found > 4 * fewest:  # a batch of a prime number of images, say: a few are left out rather than the cores
        found = fewest
    whole = "" if batch % found == 0 else f", {batch // found * found} images in all"
    short = min(batch, LARGEST_MICRO_BATCH)
    why = f": memory is free for {fit} at a time" if 0 < fit < short else ""
    return found, f"a batch of {batch} images is computed in {found} part{'s' if found > 1 else ''}{whole}{why}"
