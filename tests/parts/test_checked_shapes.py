"""The shapes in annotations are checked in these tests: an argument or a result of another shape is told."""

import pytest
import torch
from jaxtyping import TypeCheckError

from vitlab.parts.attention import SelfAttention, Softmax
from vitlab.parts.part import Site
from vitlab.parts.tokens import Prefix

SITE = Site(width=8, grid=(2, 2))


def test_a_token_without_a_batch_is_told():
    with pytest.raises(TypeCheckError, match="SelfAttention"):
        SelfAttention(heads=2).build(SITE)(torch.randn(4, 8), (2, 2))


def test_keys_of_fewer_heads_than_queries_are_told():
    q, k = torch.randn(2, 4, 4, 2), torch.randn(2, 1, 4, 2)
    with pytest.raises(TypeCheckError, match="Softmax"):
        Softmax().build(4, 2, SITE)(q, k, k)


def test_tokens_of_whole_numbers_are_told():
    with pytest.raises(TypeCheckError, match="Prefix"):
        Prefix().build(8)(torch.ones(1, 4, 8, dtype=torch.int64))
