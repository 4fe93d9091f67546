import torch

from sayso.model.kernels.bagwise import is_compiled, over_bags
from toy_batch import make_bags


def test_compiled_functions_are_used_on_cpu_without_gradients_alone() -> None:
    with torch.no_grad():
        assert is_compiled(torch.device("cpu"))
        assert not is_compiled(torch.device("cuda"))
    assert not is_compiled(torch.device("cpu"))


def test_every_bag_has_its_turn_once() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    turns_B, size_B = torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)

    def count(turns, sizes, start, first, stop) -> None:
        for bag in range(first, stop):
            turns[bag] += 1
            sizes[bag] = start[bag + 1] - start[bag]

    over_bags(count, make_bags([2, 0, 5]), turns_B, size_B)
    torch.set_num_threads(before)
    assert turns_B.tolist() == [1, 1, 1]
    assert size_B.tolist() == [2, 0, 5]
