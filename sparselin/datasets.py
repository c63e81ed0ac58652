"""Images and other files, under a short name: see `sparselin.ensembles.datasets`."""

from sparselin.ensembles.datasets import (
    FOLDER,
    MNIST,
    Images,
    Source,
    absent,
    files,
    images,
    read_idx,
    read_images,
)

__all__ = ["FOLDER", "MNIST", "Images", "Source", "absent", "files", "images", "read_idx", "read_images"]
