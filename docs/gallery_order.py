"""The order of the gallery: from a signal to nets."""

from pathlib import Path

_ORDER = (
    *("denoise_signal", "change_points", "missing_samples", "photo", "edge_map", "video"),
    "choose_lambda",
    *("torchvision_net", "lambda_map", "deepinv_prior"),
)


class InOrder:
    """Sort key of sphinx-gallery; an example that is not listed is an error."""

    def __init__(self, folder):
        """Take the folder of the examples, which does not matter."""

    def __call__(self, name):
        """Return the place of an example."""
        return _ORDER.index(Path(name).stem)
