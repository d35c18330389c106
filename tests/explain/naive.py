"""Explanations written as loops over layers, heads and tokens, from maps that a plain softmax made."""

import torch

from vitlab.models.plain import Plain
from vitlab.parts.attention import SelfAttention
from vitlab.parts.block import PreNorm
from vitlab.parts.patch import Conv

SMALL = Plain(
    name="small",
    image=(6, 10),
    channels=2,
    classes=5,
    width=24,
    depth=3,
    patch=Conv(size=2),
    block=PreNorm(attention=SelfAttention(heads=3)),
)


def small(**changes):
    """A model of three layers with weights that matter everywhere."""
    model = SMALL.change(**changes).build().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def forward_by_maps(model, images):
    """The model computed block by block; the maps are in the graph, so that autograd knows their gradients."""
    patches, grid = model.patch(images)
    x = model.position(model.prefix(patches), grid)
    maps = []
    for block in model.blocks:
        attention = block.attention
        normed = block.norm1(x)
        q, k, v = attention.qkv(normed).unflatten(-1, (3, 3, 8)).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(2, 3) / 8**0.5).softmax(dim=3)
        weights.retain_grad()
        maps.append(weights)
        x = x + attention.proj((weights @ v).transpose(1, 2).flatten(2))
        x = x + block.mlp(block.norm2(x))
    return model.head(model.pool(model.norm(x))), maps


def rollout(maps, read):
    """The product of (mean of heads + I) / 2 over layers, for one image; `read`: tokens that the head reads evenly."""
    tokens = maps[0].shape[2]
    total = torch.eye(tokens)
    for layer in maps:
        mean = sum(layer[0, h] for h in range(layer.shape[1])) / layer.shape[1]
        total = (0.5 * mean + 0.5 * torch.eye(tokens)) @ total
    return sum(total[token] for token in read) / len(read)


def weighted_rollout(maps, read):
    """R = R + mean of heads of (gradient * map)+ times R, for one image; the identity taken off at the end."""
    tokens = maps[0].shape[2]
    relevance = torch.eye(tokens)
    for layer in maps:
        speaks = torch.zeros(tokens, tokens)
        for h in range(layer.shape[1]):
            speaks += torch.relu(layer.grad[0, h] * layer[0, h].detach()) / layer.shape[1]
        relevance = relevance + speaks @ relevance
    relevance -= torch.eye(tokens)
    return sum(relevance[token] for token in read) / len(read)


def integrated(model, image, target, steps):
    """The midpoint rule along the line from zero to the image."""
    total = torch.zeros_like(image)
    for i in range(steps):
        there = (image * (i + 0.5) / steps).requires_grad_()
        model(there[None])[0, target].backward()
        total += there.grad
    return image * total / steps
