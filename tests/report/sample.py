"""A small run's folder to read: four classes, three epochs, one picture, every figure known by hand."""

import base64
import io
from typing import Any

from PIL import Image

COMMAND = "vitlab train shapes --model vit_shapes_patch2_8 --epochs 3"
HOSTILE = "<script>alert(1)</script>"


def png(width: int = 8, height: int = 8) -> str:
    """A grey image as base64 PNG."""
    file = io.BytesIO()
    Image.new("L", (width, height), 99).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def evaluation() -> dict[str, Any]:
    """40 images, 35 right: by class 10/10, 9/10, 6/10, 10/10."""
    return {
        "split": "test",
        "images": 40,
        "accuracy": 0.875,
        "interval": [0.739, 0.945],
        "loss": 0.41,
        "calibration_error": 0.032,
        "classes": ["circle", HOSTILE, "三角形", 'a "quoted" & long name'],
        "confusion": [[10, 0, 0, 0], [0, 9, 1, 0], [3, 1, 6, 0], [0, 0, 0, 10]],
        "mistakes": [
            {
                "where": "shapes/0012",
                "truth": 2,
                "predicted": 0,
                "probability": 0.97,
                "truth_probability": 0.01,
                "png": png(),
            },
        ],
    }


EXAMPLES = {
    "examples": [
        {
            "where": HOSTILE,
            "truth": "circle",
            "predicted": HOSTILE,
            "probability": 0.9,
            "png": png(),
            "maps": {"attention rollout": png(), "Grad-CAM": "no picture"},
        },
        {"where": "b", "truth": "circle", "predicted": "circle", "probability": 0.8, "png": png(), "maps": {}},
    ]
}

METRICS = """epoch,step,train_loss,train_accuracy,val_loss,val_accuracy,rate,images_per_second,seconds
1,10,2.0,0.25,,,0.001,900,1.0
1,20,1.0,0.75,,,0.002,1100,2.0
1,20,,,1.25,0.5,,,2.5
2,30,0.5,0.8,,,0.001,1200,4.0
2,30,,,0.75,0.625,,,4.5
2,40,,,0.7,0.875,,,5.0
3,50,0.25,0.9,,,,1300,7.25
"""

PLAN = """command: vitlab train shapes --model vit_shapes_patch2_8 --epochs 3
model: vit_shapes_patch2_8
seed: 7
data: {name: shapes, train: 1077, val: 120, test: 40, classes: 4}
recipe: {epochs: 3, batch: 64, optimizer: {name: adamw, weight_decay: 0.05}}
machine: {device: cpu, threads: 8}
blueprint: {patch: {size: 2}, stages: [{depth: 2}, {depth: 6}]}
reasons:
  model: Small images need small patches.
  recipe.epochs: Three are enough for a test.
  optimizer: AdamW suits transformers.
  threads: The machine has eight cores.
  workers: Everything fits in memory.
some_later_entry: {ignored: true}
"""

COST = {
    "parameters": 1000,
    "gmacs": 0.001,
    "by_part": {"patch": 100, "blocks": 850, "head": 50},
    "memory": {"weights": 4096, "activations": 12288},
    "batch": 64,
    "precision": "bfloat16",
}

MODEL = {
    "task": "classify",
    "blueprint": {},
    "preprocess": {"size": 8, "mean": [0.305], "interpolation": "bilinear"},
    "classes": ["circle", HOSTILE, "三角形", 'a "quoted" & long name'],
    "metrics": {},
    "data": {"sha256": "c0ffee"},
    "versions": {"torch": "2.9.1"},
    "command": COMMAND,
    "created": "2026-11-18T21:14:03+00:00",
}
