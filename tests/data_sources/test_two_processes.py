"""Two processes of one training over a hundred shards, stopped in mid-epoch and started again as new ones."""

import json
import multiprocessing
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from tests.data_sources.packed import png
from tests.data_sources.tarred import write_shard
from vitlab.data.order import BatchesInOrder, NearbyBatches, Share, ShuffledBatches
from vitlab.data.sources import open_source
from vitlab.data.sources.source import Samples

pytest.importorskip("webdataset", reason="the tests want the writer: pip install 'vitlab[dev]'")

BATCH, EPOCH, STOPPED = 8, 3, 11
SIZES = [*(5 + i % 7 for i in range(99)), 11]  # samples a shard: together 800, 50 batches for each process
KINDS = ("shuffled", "nearby", "held out")


class _Read(Dataset[list[str]]):
    """The keys of a batch, each of whose pictures was read and is the one of that key."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __getitem__(self, positions: torch.Tensor) -> list[str]:
        assert self.samples.content is not None
        for i in positions.tolist():
            key = self.samples.keys[i]
            assert self.samples.content(i) == (f"{key}.png", png(int(key.rpartition("/")[2])))
        return [self.samples.keys[i] for i in positions.tolist()]


def _sampler(kind: str, samples: Samples, share: Share) -> ShuffledBatches | BatchesInOrder:
    assert samples.parts is not None
    if kind == "held out":
        return BatchesInOrder(len(samples), BATCH, share)
    return (
        NearbyBatches(samples.parts, BATCH, 7, share)
        if kind == "nearby"
        else ShuffledBatches(len(samples), BATCH, 7, share)
    )


def _train(place: Path, share: Share, start: int, stop: int | None, out: Path) -> None:
    """What one process sees from batch `start` to `stop` of the epoch, with workers of its own."""
    torch.set_num_threads(1)
    samples = open_source(str(place)).splits["train"]
    seen = {}
    for kind in KINDS:
        sampler = _sampler(kind, samples, share)
        if isinstance(sampler, ShuffledBatches):
            sampler.start_at(EPOCH, start)
            sampler.set_epoch(EPOCH)
        loader = DataLoader(
            _Read(samples), sampler=sampler, batch_size=None, num_workers=2, multiprocessing_context="fork"
        )
        seen[kind] = list(islice(loader, None if stop is None else stop - start))
    out.write_text(json.dumps(seen))


def _together(place: Path, start: int, stop: int | None) -> list[dict[str, list[list[str]]]]:
    """What two new processes see."""
    context = multiprocessing.get_context("spawn")
    outs = [place.parent / f"{rank}.json" for rank in range(2)]
    ranks = [
        context.Process(target=_train, args=(place, Share(rank, 2), start, stop, out)) for rank, out in enumerate(outs)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(120)
    assert [rank.exitcode for rank in ranks] == [0, 0]
    return [json.loads(out.read_text()) for out in outs]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two") / "shards"
    for i, size in enumerate(SIZES):
        write_shard(folder / f"{i:03d}.tar", size, sum(SIZES[:i]))
    return folder


@pytest.mark.slow
def test_each_sample_once_though_they_were_stopped(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VITLAB_CACHE", str(place.parent / "cache"))
    source = open_source(str(place))
    keys = source.splits["train"].keys
    assert len(set(keys)) == len(keys) == sum(SIZES)
    before, after = _together(place, 0, STOPPED), _together(place, STOPPED, None)
    for kind in ("shuffled", "nearby"):
        for rank in range(2):
            sampler = _sampler(kind, source.splits["train"], Share(rank, 2))
            assert isinstance(sampler, ShuffledBatches)
            sampler.set_epoch(EPOCH)
            assert before[rank][kind] + after[rank][kind] == [[keys[i] for i in batch] for batch in sampler]
        seen = [key for rank in (*before, *after) for batch in rank[kind] for key in batch]
        assert sorted(seen) == sorted(keys)
    assert sorted(key for rank in after for batch in rank["held out"] for key in batch) == sorted(keys)
