"""A split is stratified, exact in number, and placed by keys alone."""

import itertools
import random

import pytest

from vitlab.data.split import hold_out


def _keys(count: int) -> list[str]:
    return [f"folder/{i}.png" for i in range(count)]


def _counts(labels: list[int], positions: list[int]) -> dict[int, int]:
    chosen = [labels[i] for i in positions]
    return {label: chosen.count(label) for label in sorted(set(labels))}


def test_each_class_gives_its_share() -> None:
    labels = [0] * 50 + [1] * 30 + [2] * 20
    kept, held = hold_out(_keys(100), labels, 10)
    assert _counts(labels, held) == {0: 5, 1: 3, 2: 2}
    assert sorted(kept + held) == list(range(100))


def test_remainders_go_to_the_largest() -> None:
    labels = [0] * 7 + [1] * 6 + [2] * 4  # 5 of 17: 2.06, 1.76, 1.18
    _, held = hold_out(_keys(17), labels, 5)
    assert _counts(labels, held) == {0: 2, 1: 2, 2: 1}


def test_the_order_of_the_samples_does_not_matter() -> None:
    keys, labels = _keys(60), [i % 3 for i in range(60)]
    _, held = hold_out(keys, labels, 9)
    wanted = {keys[i] for i in held}
    for seed in range(5):
        order = random.Random(seed).sample(range(60), 60)
        _, held = hold_out([keys[i] for i in order], [labels[i] for i in order], 9)
        assert {keys[order[i]] for i in held} == wanted


def test_the_seed_decides() -> None:
    keys, labels = _keys(60), [i % 3 for i in range(60)]
    assert hold_out(keys, labels, 9, seed=4) == hold_out(keys, labels, 9, seed=4)
    different = {tuple(hold_out(keys, labels, 9, seed=seed)[1]) for seed in range(20)}
    assert len(different) == 20


def test_none_held_out() -> None:
    assert hold_out(_keys(3), [0, 1, 1], 0) == ([0, 1, 2], [])
    for count in (-1, 3, 4):
        with pytest.raises(ValueError, match=f"cannot hold out {count} of 3 samples"):
            hold_out(_keys(3), [0, 1, 1], count)


def test_every_small_case() -> None:
    """All classes of up to four sizes from 1 to 5: exact, within each class, and no class emptied without need."""
    for classes in range(1, 5):
        for sizes in itertools.combinations_with_replacement(range(1, 6), classes):
            labels = [label for label, size in enumerate(sizes) for _ in range(size)]
            spare = sum(size - 1 for size in sizes)
            for count in range(len(labels)):
                kept, held = hold_out(_keys(len(labels)), labels, count)
                assert len(held) == count, (sizes, count)
                assert sorted(kept + held) == list(range(len(labels)))
                if count <= spare:
                    assert min(_counts(labels, kept).values()) >= 1, (sizes, count)


@pytest.mark.parametrize("others", [1, 5, 50])
def test_many_classes_of_one(others: int) -> None:
    labels = list(range(100)) + [100] * others
    for count in (1, others, 50, 100, len(labels) - 1):
        if count < len(labels):
            kept, held = hold_out(_keys(len(labels)), labels, count)
            assert len(held) == count
            assert len(kept) == len(labels) - count
