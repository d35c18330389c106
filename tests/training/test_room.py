"""In how many parts a batch is computed: equal ones, and small enough for the memory there is."""

import pytest
import torch

import vitlab
from vitlab.data.origin import Origin
from vitlab.models.cost import memory
from vitlab.training import room
from vitlab.training.resolve import Request, resolve


@pytest.mark.parametrize(
    ("batch", "parts", "said"),
    [
        (128, 1, "in 1 part"),
        (4096, 16, "in 16 parts"),
        (300, 2, "in 2 parts"),
        (514, 257, None),  # twice a prime: equal parts would be of two images
        (515, 5, "in 5 parts"),
    ],
)
def test_a_batch_is_computed_in_equal_parts_where_there_are_sensible_ones(batch, parts, said):
    found, reason = room.parts(None, batch, room.LARGEST_MICRO_BATCH)
    if said is None:
        assert (found, reason) == (3, "a batch of 514 images is computed in 3 parts, 513 images in all")
    else:
        assert (found, batch % found) == (parts, 0)
        assert reason.endswith(said)


def test_little_memory_makes_more_parts():
    assert room.parts(None, 128, 50) == (
        4,
        "a batch of 128 images is computed in 4 parts: memory is free for 50 at a time",
    )
    assert room.parts(None, 128, 0)[0] == 1  # where not even one fits, parts are no help
    assert room.parts(2, 128, 50) == (2, "asked for")


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_as_many_images_fit_as_the_count_of_their_memory_says(precision):
    small = vitlab.blueprint("vit_few_patch2_8")

    def takes(images: int) -> int:
        return room.needed(memory(small, images, precision), average=True)

    free = int(takes(37) / room.TAKEN) + 1
    fit = room.fitting(small, precision, 64, True, free)
    assert takes(fit) <= room.TAKEN * free < takes(fit + 1)
    assert fit == 37
    assert room.fitting(small, precision, 64, True, takes(64) * 2) == 64
    assert room.fitting(small, precision, 64, True, takes(1) // 2) == 0
    assert room.fitting(small, precision, 5000, True, None) == room.LARGEST_MICRO_BATCH


def test_a_run_is_planned_for_the_memory_that_is_free(monkeypatch):
    asked = Request(Origin("digits"), recipe_changes={"epochs": 1, "batch": 64}, precision="float32", threads=1)
    plenty = resolve(asked).plan
    average = plenty.recipe.ema is not None
    half = room.needed(memory(plenty.blueprint, 40, "float32"), average) / room.TAKEN
    monkeypatch.setattr(room, "available_memory", lambda: int(half))
    little = resolve(asked).plan
    assert (plenty.accumulate, plenty.micro_batch) == (1, 64)
    assert (little.accumulate, little.micro_batch) == (2, 32)
    assert "memory is free for" in little.reasons["accumulate"]
    assert little.steps == plenty.steps


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_on_a_gpu_its_own_memory_counts():
    assert 0 < room.free("cuda") <= torch.cuda.get_device_properties(0).total_memory
