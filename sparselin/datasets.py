"""Images and other files, under a short name: see `sparselin.ensembles.datasets`."""

from sparselin.ensembles.datasets import FOLDER as FOLDER
from sparselin.ensembles.datasets import MNIST as MNIST
from sparselin.ensembles.datasets import Images as Images
from sparselin.ensembles.datasets import Source as Source
from sparselin.ensembles.datasets import absent as absent
from sparselin.ensembles.datasets import files as files
from sparselin.ensembles.datasets import images as images
from sparselin.ensembles.datasets import read_idx as read_idx
from sparselin.ensembles.datasets import read_images as read_images
