"""Makes a working directory with LightRAG itself; a program of its own, in an environment with LightRAG, with stand-ins for its models."""

import asyncio
import sys
from typing import Any

import numpy as np
from lightrag import LightRAG  # pyright: ignore
from lightrag.utils import EmbeddingFunc, Tokenizer  # pyright: ignore

REPLY = """entity<|#|>Nordwind<|#|>organization<|#|>Nordwind sells pumps.
entity<|#|>Osprey<|#|>location<|#|>Osprey is a plant.
relation<|#|>Nordwind<|#|>Osprey<|#|>supplies<|#|>Nordwind supplies Osprey.
<|COMPLETE|>"""


class Characters:
    """A tokenizer that is not fetched from anywhere."""

    def encode(self, content: str) -> list[int]:
        return [ord(sign) for sign in content]

    def decode(self, tokens: list[int]) -> str:
        return "".join(map(chr, tokens))


async def model(prompt: str, **more: Any) -> str:
    return REPLY


async def embed(texts: list[str]) -> Any:
    return np.ones((len(texts), 8), dtype=np.float32)


async def main(folder: str) -> None:
    rag: Any = LightRAG(  # pyright: ignore
        working_dir=folder,
        tokenizer=Tokenizer("characters", Characters()),
        llm_model_func=model,
        embedding_func=EmbeddingFunc(embedding_dim=8, max_token_size=512, func=embed),
    )
    await rag.initialize_storages()
    texts = [
        "Nordwind sells pumps to Osprey, with a discount of 18 percent.",
        "# Valves\n\nOsprey buys valves of Zeta.",
    ]
    await rag.ainsert(texts, file_paths=["orders.txt", "valves.md"])
    await rag.ainsert("No name was given for this text about nets.")
    valley = {"description": "A valley where Osprey stands.", "entity_type": "location"}
    await rag.acreate_entity("Tarn Valley", valley)
    stands = {"description": "Osprey stands in Tarn Valley.", "keywords": "place"}
    await rag.acreate_relation("Osprey", "Tarn Valley", stands)
    await rag.finalize_storages()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
