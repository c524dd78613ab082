import pytest
import torch

torch.set_num_threads(1)  # tests run side by side, one process a core


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
