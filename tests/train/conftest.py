import pytest
import torch

from train.toy_run import invented_store


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """A store that every variant can be trained on."""
    return invented_store(tmp_path_factory.mktemp("toy"))


@pytest.fixture(autouse=True)
def one_thread():
    """Tests run beside each other, and toy batches are too small to be shared out."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
