"""How long a model takes for an answer here: measured, where `models/cost.py` counts."""

import time

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn


class Latency(BaseModel):
    """Seconds measured for one batch in evaluation mode."""

    model_config = ConfigDict(frozen=True)

    batch: int
    device: str
    best: float
    median: float

    @property
    def images_per_second(self) -> float:
        return self.batch / self.median


def latency(model: nn.Module, images: Tensor, seconds: float = 2.0) -> Latency:
    """Time forward passes for about so many seconds, after a warm-up."""
    times: list[float] = []
    with torch.inference_mode():
        for _ in range(3):
            model(images)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 5:
            start = time.perf_counter()
            model(images)
            if images.device.type == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
    times.sort()
    return Latency(batch=len(images), device=images.device.type, best=times[0], median=times[len(times) // 2])
