import pytest
import torch

from model.variants import VARIANTS, WIDTH
from sayso.errors import BadConfigError
from sayso.model.aggregators.direct import DirectConfig
from toy_batch import make_bags, make_extractor, make_vectors


def test_the_weight_is_the_classifiers_probability() -> None:
    extractor, vector_ND = make_extractor(VARIANTS["direct"]), make_vectors(4, WIDTH)
    aggregator = extractor.aggregator
    logit_N = aggregator.sentence_logit(vector_ND)
    assert logit_N is not None
    torch.testing.assert_close(
        aggregator.weigh(vector_ND, make_bags([4]), extractor.scorer), logit_N.sigmoid()[:, None]
    )


def test_the_published_second_map_changes_the_weight_but_not_the_sentence_logit() -> None:
    extractor, vector_ND = make_extractor(VARIANTS["direct-second-map"]), make_vectors(4, WIDTH)
    aggregator = extractor.aggregator
    logit_N = aggregator.sentence_logit(vector_ND)
    assert logit_N is not None
    torch.testing.assert_close(logit_N, aggregator.classifier(vector_ND))
    assert not torch.allclose(aggregator.weigh(vector_ND, make_bags([4]), extractor.scorer), logit_N.sigmoid()[:, None])


def test_sentences_that_tie_share_the_gradient_also_where_all_are_zero() -> None:
    extractor = make_extractor(VARIANTS["direct"])
    vector_ND = make_vectors(1, WIDTH).repeat(3, 1).requires_grad_()
    (gradient_ND,) = torch.autograd.grad(extractor.classify(vector_ND, make_bags([3])).sum(), vector_ND)
    torch.testing.assert_close(gradient_ND, gradient_ND[:1].expand_as(gradient_ND))
    assert gradient_ND[:, vector_ND[0] == 0].any()


def test_an_unknown_weight_is_refused() -> None:
    with pytest.raises(BadConfigError, match="second_map"):
        DirectConfig(weight="third_map")  # type: ignore[arg-type]
