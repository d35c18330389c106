"""Heads, ablation, probes, positions and filters against loops and cases known by hand."""

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.explain import naive
from vitlab.errors import UserError
from vitlab.explain.anatomy.ablation import drops, silenced
from vitlab.explain.anatomy.filters import components, filters
from vitlab.explain.anatomy.heads import Head, distances, heads
from vitlab.explain.anatomy.positions import alike, vectors, waves
from vitlab.explain.anatomy.probes import linear, neighbours
from vitlab.explain.anatomy.probes import vectors as of_layers
from vitlab.explain.record import attention_layers, recording
from vitlab.models.registry import create


@pytest.fixture
def images():
    return torch.randn(4, 2, 6, 10)


def test_heads_agree_with_loops(images):
    model = naive.small()
    _, maps = naive.forward_by_maps(model, images)
    found = heads(model, images.split(3))
    assert [(head.layer, head.head) for head in found] == [(layer, h) for layer in range(3) for h in range(3)]
    for head in found:
        far, bits, prefix, itself = [], [], [], []
        for i in range(4):
            for a in range(15):
                row = maps[head.layer][i, head.head, 1 + a].detach().double()
                reach = sum(float(row[1 + b]) * 2 * math.dist(divmod(a, 5), divmod(b, 5)) for b in range(15))
                far.append(reach / float(row[1:].sum()))
                bits.append(-sum(float(p) * math.log2(float(p)) for p in row))
                prefix.append(float(row[0]))
                itself.append(float(row[1 + a]))
        assert head.distance == pytest.approx(np.mean(far), rel=1e-5)
        assert head.entropy == pytest.approx(np.mean(bits), rel=1e-5)
        assert head.prefix == pytest.approx(np.mean(prefix), rel=1e-5)
        assert head.itself == pytest.approx(np.mean(itself), rel=1e-5)
        assert head.even == pytest.approx(float(distances((3, 5), (6, 10)).mean()))


@pytest.mark.parametrize(
    ("distance", "prefix", "kind"),
    [(2.0, 0.1, "local"), (6.0, 0.1, "global"), (2.0, 0.6, "sink"), (5.0, 0.5, "global")],
)
def test_kinds(distance, prefix, kind):
    assert Head(layer=0, head=0, distance=distance, even=10, entropy=1, prefix=prefix, itself=0).kind == kind


def test_maps_with_signs_have_no_entropy(images):
    model = naive.small(block__attention__core={"kind": "linformer", "rank": 4})
    assert all(head.entropy is None for head in heads(model, [images]))


def test_distances_are_in_pixels_of_the_image():
    found = distances((2, 3), (8, 18))
    assert found[0, 1] == 6
    assert found[0, 3] == 4
    assert found[0, 5] == pytest.approx(math.hypot(4, 12))


def test_a_silenced_head_is_one_whose_values_are_zero(images):
    model = naive.small()
    place = attention_layers(model)[1]
    with torch.no_grad():
        plain = model(images)
        with silenced(place, 2):
            found = model(images)
        rows = slice(2 * 24 + 2 * 8, 2 * 24 + 3 * 8)  # of the values, of the third head
        model.blocks[1].attention.qkv.weight[rows] = 0
        model.blocks[1].attention.qkv.bias[rows] = 0
        assert_close(found, model(images))
        assert not torch.equal(found, plain)


def test_drops_count_what_is_no_longer_right(images):
    model = naive.small()
    x = torch.randn(60, 2, 6, 10)
    with torch.no_grad():
        truth = model(x).argmax(dim=1)
        truth[:6] = (truth[:6] + 1) % 5
        accuracy, found = drops(model, x, truth)
        assert accuracy == pytest.approx(0.9)
        assert len(found) == 9
        with silenced(attention_layers(model)[2], 1):
            right = (model(x).argmax(dim=1) == truth).double()
    assert found[7].drop == pytest.approx(0.9 - float(right.mean()))
    with torch.no_grad():
        assert torch.equal(model(x).argmax(dim=1)[6:], truth[6:])


def test_vectors_of_layers_are_what_the_model_reads(images):
    for changes, read in (
        ({}, lambda tokens: tokens[:, 0]),
        ({"pool": "mean"}, lambda tokens: tokens[:, 1:].mean(dim=1)),
    ):
        model = naive.small(**changes)
        found = of_layers(model, images.split(3))
        with recording(model, tokens=True) as seen, torch.no_grad():
            model(images)
        for layer, vectors_ in zip(seen, found, strict=True):
            assert_close(vectors_, read(layer.tokens))


def test_probes_find_what_is_there_and_not_what_is_not():
    labels = torch.arange(300) % 3
    centres = torch.randn(3, 8) * 6
    clear, noise = centres[labels] + torch.randn(300, 8), torch.randn(300, 8)
    for probe in (linear, neighbours):
        assert probe(clear[:200], clear[200:], labels[:200], labels[200:]) > 0.98
        assert 0.15 < probe(noise[:200], noise[200:], labels[:200], labels[200:]) < 0.52


def test_neighbours_agree_with_loops():
    known, held, labels = torch.randn(40, 5), torch.randn(20, 5), torch.randint(0, 3, (40,))
    truth = []
    for x in held:
        near = sorted(range(40), key=lambda k: -float(torch.cosine_similarity(x, known[k], dim=0)))[:10]
        votes = [sum(int(labels[k]) == c for k in near) for c in range(3)]
        truth.append(votes.index(max(votes)))
    assert neighbours(known, held, labels, torch.tensor(truth)) == 1


def test_positions_and_their_likeness():
    model = naive.small()
    found, grid = vectors(model)
    assert grid == (3, 5)
    assert_close(found, model.position.table.vectors.weight[1:].detach())
    assert_close(alike(found)[2, 7], torch.cosine_similarity(found[2], found[7], dim=0))
    with pytest.raises(UserError, match="adds no vectors of positions"):
        vectors(naive.small(position="none"))


def test_a_wave_has_its_power_at_its_frequency():
    rows, columns = torch.meshgrid(torch.arange(8), torch.arange(8), indexing="ij")
    wave = torch.stack([torch.cos(2 * math.pi * (2 * rows + columns) / 8), torch.sin(2 * math.pi * rows / 8)], dim=2)
    found = waves(wave.flatten(0, 1) + 3, (8, 8))
    assert float(found.sum()) == pytest.approx(1)
    for r, c in ((2, 1), (-2, -1), (1, 0), (-1, 0)):
        assert float(found[4 + r, 4 + c]) == pytest.approx(0.25)


def test_components_are_those_of_the_filters():
    weight = torch.randn(6, 2, 3, 3)
    patterns, shares = components(weight, 4)
    gram = weight.flatten(1).T @ weight.flatten(1)
    values, found = torch.linalg.eigh(gram)
    assert_close(shares, values.flip(0)[:4] / values.sum(), rtol=1e-3, atol=1e-5)
    assert_close((patterns.flatten(1) @ found.flip(1)[:, :4]).abs(), torch.eye(4), rtol=0, atol=1e-2)


@pytest.mark.parametrize("patch", ["conv", "unfold"])
def test_filters_are_found_in_any_first_layer(patch):
    model = naive.small(patch={"kind": patch, "size": 2})
    weight = model.patch.proj.weight
    assert_close(filters(model), weight.detach().view(24, 2, 2, 2))
    assert isinstance(model.patch.proj, nn.Conv2d) == (patch == "conv")


def test_filters_of_a_convolutional_network():
    model = create("resnet18_cifar_32", classes=2)
    assert filters(model).shape[1:] == (3, 3, 3)
