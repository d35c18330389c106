"""What stands under the picture of each method; apart from `known.py` so that a page needs no torch to be drawn."""

TITLES = {
    "attention": "attention of the last layer",
    "rollout": "attention rollout",
    "weighted-rollout": "gradient-weighted rollout",
    "grad-cam": "Grad-CAM",
    "gradient": "gradient",
    "smooth-gradient": "gradient, smoothed",
    "input-gradient": "gradient times input",
    "integrated-gradients": "integrated gradients",
    "occlusion": "occlusion",
    "random": "random",
}
