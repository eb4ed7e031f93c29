"""A process that serves a GGUF file as an OpenAI-compatible endpoint on the loopback, with one thread."""

import importlib
import signal
import sys

CONTEXT = 8192


def main(gguf: str) -> None:
    xllamacpp = importlib.import_module("xllamacpp")  # in the dependency group `model` only
    params = xllamacpp.CommonParams()
    params.model.path = gguf
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.warmup = False
    server = xllamacpp.Server(params)
    sys.stdout.write(f"\nlistening {server.listening_address}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
