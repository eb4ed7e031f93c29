"""The network: MiniLM's encoder over question and passage, with one head on the first token and one on every token."""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

HIDDEN, HEADS, INNER, LAYERS, VOCABULARY, PLACES = 384, 12, 1536, 6, 30522, 512
BEGIN, END = 101, 102
"""The tokens at the beginning, and between and after the parts."""


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(HIDDEN, HIDDEN)
        self.key = nn.Linear(HIDDEN, HIDDEN)
        self.value = nn.Linear(HIDDEN, HIDDEN)
        self.mixed = nn.Linear(HIDDEN, HIDDEN)
        self.attention_norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.inner = nn.Linear(HIDDEN, INNER)
        self.outer = nn.Linear(INNER, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        rows, tokens, _ = states.shape

        def heads(given: Tensor) -> Tensor:
            apart = given.view(rows, tokens, HEADS, HIDDEN // HEADS).transpose(1, 2)
            return apart.reshape(rows * HEADS, tokens, HIDDEN // HEADS).float()

        query, key, value = (
            heads(self.query(states)),
            heads(self.key(states)),
            heads(self.value(states)),
        )
        # Three times as fast on a processor as the fused attention, whose way back is slow there.
        with torch.autocast(states.device.type, enabled=False):
            scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(HIDDEN // HEADS)
            scores = scores.view(rows, HEADS, tokens, tokens) + mask
            seen = torch.bmm(
                torch.softmax(scores, dim=-1).view(rows * HEADS, tokens, tokens), value
            )
        seen = seen.view(rows, HEADS, tokens, -1).transpose(1, 2).reshape(rows, tokens, HIDDEN)
        states = self.attention_norm(states + self.mixed(seen))
        return self.norm(states + self.outer(functional.gelu(self.inner(states))))


class Reader(nn.Module):
    """Returns the answerability logit, (rows,), and per token the start, end and inside logits, (rows, tokens, 3)."""

    def __init__(self, layers: int = LAYERS) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, HIDDEN)
        self.places = nn.Embedding(PLACES, HIDDEN)
        self.types = nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.pool = nn.Linear(HIDDEN, HIDDEN)
        self.answerable = nn.Linear(HIDDEN, 1)
        self.tokens = nn.Linear(HIDDEN, 3)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.norm(self.words(ids) + self.places(places)[None] + self.types(types))
        hidden = (1.0 - mask.float())[:, None, None, :] * -1e4
        for layer in self.layers:
            states = layer(states, hidden)
        first = torch.tanh(self.pool(states[:, 0]))
        return self.answerable(first)[:, 0], self.tokens(states)


class PooledStates(nn.Module):
    """The first layers of a reader. Returns the states of the last two of them, pooled: (rows, 8 * HIDDEN).

    For each of the two layers: the first token, the mean of the question's tokens, and the mean and the greatest of the
    head's and the text's tokens with their marks.
    """

    def __init__(self, reader: Reader, layers: int) -> None:
        super().__init__()
        self.words, self.places, self.types = reader.words, reader.places, reader.types
        self.norm, self.layers = reader.norm, reader.layers[:layers]

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        states = self.norm(self.words(ids) + self.places(places)[None] + self.types(types))
        hidden = (1.0 - mask.float())[:, None, None, :] * -1e4
        asked = ((types == 0) & (mask == 1) & (ids != BEGIN) & (ids != END)).float()[:, :, None]
        shown = ((types == 1) & (mask == 1)).float()[:, :, None]
        pooled: list[Tensor] = []
        for layer in self.layers:
            states = layer(states, hidden)
            pooled += [
                states[:, 0],
                (states * asked).sum(dim=1) / asked.sum(dim=1).clamp(min=1),
                (states * shown).sum(dim=1) / shown.sum(dim=1).clamp(min=1),
                (states - (1 - shown) * 1e4).amax(dim=1),
            ]
        return torch.cat(pooled[-8:], dim=1)


def from_minilm(weights: Path, layers: int = LAYERS) -> Reader:
    """Return a reader with MiniLM's encoder and new heads."""
    given = load_file(weights)
    given = {name.removeprefix("bert."): tensor for name, tensor in given.items()}
    made = Reader(layers)
    names = {
        "words.weight": "embeddings.word_embeddings.weight",
        "places.weight": "embeddings.position_embeddings.weight",
        "types.weight": "embeddings.token_type_embeddings.weight",
        "norm.weight": "embeddings.LayerNorm.weight",
        "norm.bias": "embeddings.LayerNorm.bias",
    }
    parts = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "mixed": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "inner": "intermediate.dense",
        "outer": "output.dense",
        "norm": "output.LayerNorm",
    }
    for layer in range(layers):
        for own, theirs in parts.items():
            for kind in ("weight", "bias"):
                names[f"layers.{layer}.{own}.{kind}"] = f"encoder.layer.{layer}.{theirs}.{kind}"
    state = made.state_dict()
    state.update({own: given[theirs] for own, theirs in names.items()})
    made.load_state_dict(state)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """`start`, `end`: token places, 0 where there is no answer, -100 where it is beyond. `inside`: 1, 0, or -1 to leave out."""

    ids: Tensor
    types: Tensor
    mask: Tensor
    start: Tensor
    end: Tensor
    inside: Tensor
    answerable: Tensor


def loss(network: Reader, batch: Batch) -> tuple[Tensor, dict[str, float]]:
    """Return the sum of the four losses, and each by name."""
    answerable, tokens = network(batch.ids, batch.types, batch.mask)
    answerable, tokens = answerable.float(), tokens.float()
    unseen = (batch.types == 0) | (batch.mask == 0)
    unseen[:, 0] = False  # the first token stands for "no answer"
    spans = tokens[:, :, :2].masked_fill(unseen[:, :, None], -1e4)
    start = _cross_entropy(spans[:, :, 0], batch.start)
    end = _cross_entropy(spans[:, :, 1], batch.end)
    seen = batch.inside >= 0
    inside = functional.binary_cross_entropy_with_logits(tokens[:, :, 2][seen], batch.inside[seen])
    holds = functional.binary_cross_entropy_with_logits(answerable, batch.answerable)
    total = 0.5 * (start + end) + inside + holds
    return total, {
        "start": start.item(),
        "end": end.item(),
        "inside": inside.item(),
        "holds": holds.item(),
    }


def _cross_entropy(logits: Tensor, places: Tensor) -> Tensor:
    """Return the mean over the places within the window; 0 where a batch has none."""
    total = functional.cross_entropy(logits, places, ignore_index=-100, reduction="sum")
    return total / (places >= 0).sum().clamp(min=1)
