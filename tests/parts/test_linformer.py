"""Low-rank keys and values, one mixed key at a time."""

import pytest
import torch
from torch.testing import assert_close

from vitlab.errors import UserError
from vitlab.parts.linformer import Linformer
from vitlab.parts.part import Site

from . import naive

SITE = Site(width=8, grid=(2, 3), prefix=1)


def test_queries_look_at_mixtures_of_keys_and_take_mixtures_of_values():
    core = Linformer(rank=4).build(2, 4, SITE).double()
    q, k, v = naive.qkv(2, 7, 4)
    keys, values = torch.zeros(2, 2, 2, 4, 4, dtype=torch.float64)
    for r in range(4):
        for n in range(7):
            keys[:, :, r] += core.mix_keys.weight.detach()[r, n] * k[:, :, n]
            values[:, :, r] += core.mix_values.weight.detach()[r, n] * v[:, :, n]
    assert_close(core(q, k, v), naive.attend(q, keys, values))


def test_with_as_many_unmixed_keys_as_tokens_it_is_softmax():
    core = Linformer(rank=7).build(2, 4, SITE).double()
    for mix in (core.mix_keys, core.mix_values):
        mix.weight.data = torch.eye(7, dtype=torch.float64)
    q, k, v = naive.qkv(2, 7, 4)
    assert_close(core(q, k, v), naive.attend(q, k, v))


def test_another_number_of_tokens_is_refused_in_words():
    core = Linformer(rank=4).build(2, 4, SITE)
    q, k, v = (x.float() for x in naive.qkv(2, 6, 4))
    with pytest.raises(UserError, match="mixes 7 tokens, not 6"):
        core(q, k, v)
    with pytest.raises(UserError, match="mixes 7 tokens, not 6"):
        core.map(q, k)
