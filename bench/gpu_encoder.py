"""A pretrained encoder on one GPU: 60,000 sentences of 48 subwords, compared with a plain loop of `transformers`.

    PYTHONPATH=src python bench/gpu_encoder.py --encoder models/MiniLM --out gpu_encoder.json

The plain loop pads to 128 subwords, as scripts do, computes in bfloat16 by autocast, and classifies the sentence token;
nothing is compiled. Ours is the command's own path: from bags to logits, and from the store's rows to updated weights.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from drawn import NUM_RELATIONS, NUM_WORDS, draw_table, make_part
from sayso.features.batch import Part
from sayso.model.aggregators.noisy_or import NoisyOrConfig
from sayso.model.encoders.base import ModelTables
from sayso.model.encoders.transformer import TransformerConfig
from sayso.model.extractor import Extractor, ModelConfig
from sayso.model.predict import predict_logits
from sayso.model.pretrained import read_pretrained
from sayso.train.config import LossConfig, RunConfig, TrainConfig
from sayso.train.data import RunData
from sayso.train.gpu.graphed import GraphedEpochs
from sayso.train.loop import make_optimizer
from sayso.train.objective import Objective

NUM_SENTENCES, NUM_SUBWORDS, PADDED, REFERENCE_BATCH = 60_000, 48, 128, 256
SPECIAL = 6
"""The sentence token, the separator and four markers."""
DEVICE = torch.device("cuda")


def config_of(encoder: Path, batch_bags: int) -> RunConfig:
    """Return noisy-or on the encoder, reading names."""
    model = ModelConfig(encoder=TransformerConfig(folder=str(encoder)), aggregator=NoisyOrConfig())
    train = TrainConfig(batch_bags=batch_bags, precision="bf16", weight_decay=0.01, pretrained_learning_rate=5e-5)
    return replace(RunConfig(), model=model, train=train, loss=LossConfig(sentence=0.0))


def make_model(config: RunConfig, encoder: Path) -> Extractor:
    """Return the model; each of its words is one subword of the encoder's vocabulary."""
    vocabulary = [
        line for line in (encoder / "vocab.txt").read_text("utf-8").splitlines() if line.isascii() and line.isalpha()
    ]
    words = [vocabulary[number % len(vocabulary)] for number in range(NUM_WORDS)]
    pretrained = read_pretrained(encoder, words, [])
    assert int(pretrained.subwords.rows.length.max()) == 1
    tables = ModelTables(
        word_VW=torch.zeros(NUM_WORDS, 0), num_types=0, num_relations=NUM_RELATIONS, pretrained=pretrained
    )
    extractor = Extractor(config.model, tables, config.seed)
    extractor.encoder.load_pretrained()
    extractor.encoder.precision = "bf16"
    return extractor.to(DEVICE).eval()


def drawn_data(part: Part, config: RunConfig) -> RunData:
    """Return the part as training input, without a store on disk."""
    store: Any = SimpleNamespace(relations=range(NUM_RELATIONS))
    data = RunData(store, config)
    vars(data).update(train=part)
    return data


def timed(call: Callable[[], object], num: int) -> float:
    """Return the median time of a call in seconds, after a warm-up call."""
    rounds = []
    for _ in range(num + 1):
        torch.cuda.synchronize()
        began = time.monotonic()
        call()
        torch.cuda.synchronize()
        rounds.append(time.monotonic() - began)
    return statistics.median(rounds[1:])


class Plain(nn.Module):
    """The encoder of `transformers` and a linear layer on the sentence token."""

    def __init__(self, encoder: Path) -> None:
        super().__init__()
        from transformers import AutoModel

        self.encoder = AutoModel.from_pretrained(encoder, local_files_only=True)
        self.output = nn.Linear(self.encoder.config.hidden_size, NUM_RELATIONS)

    def forward(self, id_NL: Tensor, mask_NL: Tensor) -> Tensor:
        """Return a logit per sentence and relation."""
        logit_NR: Tensor = self.output(self.encoder(input_ids=id_NL, attention_mask=mask_NL).last_hidden_state[:, 0])
        return logit_NR


def measure_plain(encoder: Path, num_sentences: int) -> dict[str, float]:
    """Return sentences per second of the plain loop, on part of the sentences."""
    model = Plain(encoder).to(DEVICE)
    id_NL = torch.randint(1_000, 20_000, (num_sentences, PADDED))
    mask_NL = (torch.arange(PADDED) < NUM_SUBWORDS).expand(num_sentences, -1).long()
    label_NR = (torch.rand(num_sentences, NUM_RELATIONS) < 0.02).float()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)

    def batches() -> Any:
        for first in range(0, num_sentences, REFERENCE_BATCH):
            rows = slice(first, first + REFERENCE_BATCH)
            yield id_NL[rows].to(DEVICE), mask_NL[rows].to(DEVICE), label_NR[rows].to(DEVICE)

    def predict() -> None:
        model.eval()
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            torch.cat([model(ids, mask).float() for ids, mask, _ in batches()]).cpu()

    def train() -> None:
        model.train()
        for ids, mask, labels in batches():
            with torch.autocast("cuda", torch.bfloat16):
                logits = model(ids, mask)
            nn.functional.binary_cross_entropy_with_logits(logits.float(), labels).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    return {"predict": num_sentences / timed(predict, 2), "train": num_sentences / timed(train, 2)}


def measure_ours(encoder: Path, part: Part, batch_bags: int) -> dict[str, float]:
    """Return sentences per second from bags to logits, and of training."""
    config = config_of(encoder, batch_bags)
    extractor, data = make_model(config, encoder), drawn_data(part, config)
    num = part.table.num_sentences
    found = {"predict": num / timed(lambda: predict_logits(extractor, part), 3)}
    objective = Objective(extractor, config.loss).to(DEVICE)
    epochs = GraphedEpochs(objective, make_optimizer(objective, extractor.encoder, config.train), data)
    speeds = [epochs.train_epoch(number, lambda _: None).sentences_per_second for number in (1, 2, 3, 4)]
    return found | {"train": statistics.median(speeds[1:]), "first_epoch": speeds[0]}


def main() -> None:
    """Measure both and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    part = make_part(draw_table(NUM_SENTENCES, length=NUM_SUBWORDS - SPECIAL))
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "num_sentences": NUM_SENTENCES,
        "num_subwords": NUM_SUBWORDS,
        "plain": measure_plain(given.encoder, 12_800),
        "batches_of_bags": {str(num): measure_ours(given.encoder, part, num) for num in (64, 256, 1_024)},
    }
    found["gpu_gigabytes"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
