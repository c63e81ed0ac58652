"""The networks of the tests are small: a second thread would only wait."""

import importlib.util

if importlib.util.find_spec("torch") is not None:
    import torch

    torch.set_num_threads(1)
