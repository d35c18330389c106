"""Stages of a run: what the model sees in each, and what does not fit refused before the run."""

import pytest
import torch

from tests.models import small
from vitlab.errors import UserError
from vitlab.training.curriculum import Curriculum, check
from vitlab.training.recipe import Recipe, recipe
from vitlab.training.stage import Stage, at

SMALL = small.SMALL.change(channels=3, patch={"kind": "conv", "size": 4})
STAGES = (Stage(until=0.25, side=8, keep=0.5), Stage(until=0.5, keep=0.5))


def _tokens_seen(model, images):
    seen = []
    hook = model.blocks[0].register_forward_pre_hook(lambda block, inputs: seen.append(inputs[0]))
    model(images)
    hook.remove()
    return seen[0]


def test_each_stage_lasts_to_its_share_of_the_steps():
    assert [at(STAGES, way) for way in (0.0, 0.24, 0.25, 0.49, 0.5, 1.0)] == [
        *[STAGES[0]] * 2, *[STAGES[1]] * 2, *[Stage(until=1.0)] * 2,
    ]  # fmt: skip


def test_smaller_images_and_fewer_patches_reach_the_blocks():
    model = SMALL.change(prefix={"registers": 1}).build().train()  # patches of 4: 16 of them, 2 before them
    curriculum = Curriculum(model, STAGES, steps=100)
    images = torch.randn(3, 3, 16, 16)
    for step, side, tokens in ((0, 8, 2 + 2), (30, 16, 2 + 8), (60, 16, 2 + 16)):
        shown = curriculum.show(images, step)
        assert shown.shape == (3, 3, side, side)
        assert _tokens_seen(model, shown).shape[1] == tokens
    curriculum.show(images, 0)
    assert _tokens_seen(model.eval(), images).shape[1] == 18  # evaluation sees all


def test_patches_kept_are_some_of_those_there_were_in_their_order():
    model = SMALL.build().train()
    whole = _tokens_seen(model, images := torch.randn(4, 3, 16, 16))
    Curriculum(model, STAGES, steps=1).show(images, 0.3)
    thinned = _tokens_seen(model, images)
    assert torch.equal(thinned[:, 0], whole[:, 0])
    places = [
        [int((image == token).all(dim=1).nonzero()) for token in kept]
        for image, kept in zip(whole[:, 1:], thinned[:, 1:], strict=True)
    ]
    assert all(place == sorted(set(place)) and len(place) == 8 for place in places)
    assert len(set(map(tuple, places))) > 1  # each image by its own draw


def test_half_the_side_is_the_mean_of_four_pixels_where_colours_are_flat():
    flat = torch.arange(3.0)[None, :, None, None].expand(1, 3, 16, 16)
    shown = Curriculum(SMALL.build(), (Stage(until=1.0, side=8),), steps=10).show(flat, 9)
    torch.testing.assert_close(shown, flat[..., :8, :8])


def test_what_does_not_fit_is_refused_before_the_run():
    with pytest.raises(UserError, match=r"stage until 0\.5: patches of 4x4 do not divide an image of 10x10"):
        check(SMALL, (Stage(until=0.5, side=10),))
    windows = SMALL.change(prefix={"cls": False}, pool="mean", block__attention__core={"kind": "window", "size": 2})
    with pytest.raises(UserError, match=r"stage until 0\.5: .*create the model with the size of these images"):
        check(windows, (Stage(until=0.5, keep=0.5),))
    turned = SMALL.change(block__attention__relative="rotary")
    with pytest.raises(UserError, match=r"stage until 0\.5: .*laid out for all patches"):
        check(turned, (Stage(until=0.5, keep=0.5),))
    check(turned, (Stage(until=0.5, side=8),))
    with pytest.raises(UserError, match="no patches to leave out"):
        Curriculum(torch.nn.Linear(2, 2), (Stage(until=1, keep=0.5),), steps=1)


def test_stages_are_entries_of_a_recipe_and_in_order():
    found = recipe("cifar", {"stages": [{"until": 0.3, "side": 24}, {"until": 0.6, "keep": 0.5}]})
    assert found.stages == (Stage(until=0.3, side=24), Stage(until=0.6, keep=0.5))
    assert Recipe.model_validate_json(found.model_dump_json()) == found
    with pytest.raises(UserError, match=r"stages end at 0\.5, 0\.5; each has to end after the one before it"):
        recipe("cifar", {"stages": [{"until": 0.5}, {"until": 0.5, "keep": 0.5}]})
