import pytest
import torch

from sayso.errors import UserError
from sayso.train.device import choose_device, from_first, process_group, refuse_disagreement
from sayso.train.epoch import ProcessShard

CPU = torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_refused_and_auto_takes_the_cpu() -> None:
    with pytest.raises(UserError, match="device cuda: torch finds no usable GPU; try cpu"):
        choose_device("cuda")
    assert choose_device("auto") == CPU


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(UserError, match="choose one of auto, cpu, cuda"):
        choose_device("gpu")


def test_a_process_alone_has_the_whole_batch_and_agrees_with_itself() -> None:
    with process_group(CPU) as shard:
        assert shard == ProcessShard(0, 1)
        assert from_first([1.5], shard, CPU) == [1.5]
        refuse_disagreement({"the store": 2**47 + 1}, shard, CPU)
