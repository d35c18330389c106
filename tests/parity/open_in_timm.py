"""Open a folder in timm and classify images: `.venv-peers/bin/python tests/parity/open_in_timm.py FOLDER IMAGE...`.

It prints, as JSON, the probabilities of every image, prepared as timm prepares them by the folder's configuration.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import torch
from peers import timm
from PIL import Image


def main(folder, files):
    model = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    config = timm.data.resolve_data_config({}, model=model)
    prepare = timm.data.create_transform(**config, is_training=False)
    mode = {1: "L", 3: "RGB"}[config["input_size"][0]]
    with torch.no_grad():
        found = [model(prepare(Image.open(file).convert(mode))[None]).softmax(dim=1)[0].tolist() for file in files]
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
