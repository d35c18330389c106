"""Models and devices that cannot be had: the sentence names what would fit."""

from collections.abc import Callable

import pytest
import torch

Refused = Callable[..., str]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "--model vit_cifar_small_patch4_23",
            "no model 'vit_cifar_small_patch4_23'; did you mean 'vit_cifar_small_patch4_32' or "
            "'vit_cifar_base_patch4_32' or 'vit_cifar_large_patch4_32'?",
        ),
        ("--model zzz", "no model 'zzz'; `vitlab models` lists them"),
        (
            "--model vit_cifar_small_patch4_32 --size 30",
            "vit_cifar_small_patch4_32: patches of 4x4 do not divide an image of 30x30; "
            "take a patch of 1, 2, 3, 5, 6, 10, 15, 30, or an image of 28x28 or 32x32",
        ),
        (
            "--model vit_cifar_small_patch4_32 --change block.attention.heads=5",
            "vit_cifar_small_patch4_32: 5 heads do not divide a width of 192; "
            "take 1, 2, 3, 4, 6, 8, 12, 16 heads or a width of 190 or 195",
        ),
        (
            "--model vit_cifar_small_patch4_32 --change pol=mean",
            "vit_cifar_small_patch4_32: no 'pol' to change; did you mean 'pool'?",
        ),
        (
            "--model vit_cifar_small_patch4_32 --change block.atention.heads=4",
            "vit_cifar_small_patch4_32: no 'atention' to change; did you mean 'attention'?",
        ),
        (
            "--model vit_cifar_small_patch4_32 --change width=-1",
            "vit_cifar_small_patch4_32: width wants at least 1, not -1",
        ),
        (
            "--model vit_cifar_small_patch4_32 --change width=wide",
            "vit_cifar_small_patch4_32: width wants a whole number, not 'wide'",
        ),
        (
            "--model vit_cifar_small_patch4_32 --change pool=meen",
            "vit_cifar_small_patch4_32: pool: no pool of kind 'meen'; did you mean 'mean' or 'sequence' or 'cls_mean'?",
        ),
        (
            "--batch 128 --accumulate 200",
            "a batch of 128 images cannot be split into 200 parts; take a smaller --accumulate",
        ),
        (
            "--batch 96 --accumulate 7",
            "a batch of 96 images is not 7 equal parts; take an --accumulate of 3, 4, 6, 8, or another --batch",
        ),
    ],
)
def test_training_what_cannot_be_built(refused: Refused, words: str, sentence: str) -> None:
    assert refused("train", "digits", *words.split()) == sentence


def test_a_profile_of_what_is_not_known(refused: Refused) -> None:
    assert refused("profile", "vit_tiny_patch16_225").startswith(
        "no model 'vit_tiny_patch16_225'; did you mean 'vit_tiny_patch16_224'"
    )
    assert refused("models", "swim*").startswith("no model is named like 'swim*'")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is one here")
def test_a_device_that_is_not_here(refused: Refused) -> None:
    sentence = refused("train", "digits", "--device", "cuda")
    assert sentence.startswith("no cuda device is here; take cpu")
