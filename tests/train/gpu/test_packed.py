import torch
from hypothesis import given
from hypothesis import strategies as st

from sayso.train.gpu.packed import pack

SHAPES = st.lists(st.lists(st.integers(0, 4), min_size=0, max_size=3), min_size=1, max_size=4)
TYPES = (torch.int32, torch.int64, torch.float32)


@given(shapes=SHAPES, num_steps=st.integers(1, 4), seed=st.integers(0, 99))
def test_what_is_cut_out_is_what_was_packed(shapes: list[list[int]], num_steps: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        str(number): torch.randint(-99, 99, (num_steps, *shape), generator=generator).to(TYPES[number % 3])
        for number, shape in enumerate([[2], *shapes])
    }
    packed = pack(tensors)
    for step in range(num_steps):
        fields = packed.cut(torch.tensor([step]))
        assert list(fields) == list(tensors)
        for name, tensor in tensors.items():
            assert fields[name].dtype == tensor.dtype
            assert torch.equal(fields[name], tensor[step])


def test_every_field_begins_at_a_multiple_of_sixteen_bytes() -> None:
    packed = pack({"a": torch.zeros(2, 1, dtype=torch.int32), "b": torch.zeros(2, 3), "c": torch.zeros(2, 5)})
    assert [field.first % 2 for field in packed.fields.values()] == [0, 0, 0]
