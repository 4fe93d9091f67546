import torch

from sayso.model.relation import EntityProjection
from toy_batch import make_bags


def make_projection() -> EntityProjection:
    return EntityProjection(torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0]]), 4, torch.Generator().manual_seed(0))


def test_a_pair_enters_as_its_difference_and_its_product() -> None:
    projection, bags = make_projection(), make_bags([1])
    bags.head_B[:], bags.tail_B[:] = 1, 2
    expected = projection.pair_DV @ torch.tensor([-2.0, 3.0, 3.0, -2.0]) + projection.bias_D
    torch.testing.assert_close(projection.project_pair(bags)[0], expected)


def test_entities_without_vectors_leave_the_bias_alone() -> None:
    projection, bags = make_projection(), make_bags([1])
    bags.head_B[:], bags.tail_B[:] = 0, 0
    torch.testing.assert_close(projection.project_pair(bags)[0], projection.bias_D)


def test_entity_vectors_are_frozen() -> None:
    assert {name for name, _ in make_projection().named_parameters()} == {"text_DD", "pair_DV", "bias_D"}
