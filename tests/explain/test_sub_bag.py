import torch

from explain.cases import make_case, over_variants, plain_value
from sayso.explain.sub_bag import SubBags, sub_bag_logits
from sayso.model.extractor import ModelConfig


@over_variants
def test_logits_are_those_of_the_bag_made_of_these_sentences(config: ModelConfig) -> None:
    extractor, vector_ND, bags = make_case(config)
    # Sentences 1 to 4 are bag 1, 6 to 12 bag 3; the second and the last part are empty.
    parts = [([4, 2], 1), ([], 3), ([6], 3), ([12, 8, 7], 3), ([], 0)]
    found = sub_bag_logits(
        extractor,
        vector_ND,
        bags,
        SubBags(
            row_M=torch.tensor([row for rows, _ in parts for row in rows]),
            sub_M=torch.tensor([i for i, (rows, _) in enumerate(parts) for _ in rows]),
            bag_C=torch.tensor([bag for _, bag in parts]),
        ),
    )
    expected = torch.stack([plain_value(extractor, vector_ND[rows], bags, bag) for rows, bag in parts])
    torch.testing.assert_close(found.detach(), expected, atol=1e-12, rtol=1e-12)
