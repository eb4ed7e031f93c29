"""`python -m benchmarks [NAME [ARGUMENTS]]`: one benchmark, or those that take some minutes, one after the other."""

import sys
from importlib import import_module

STANDARD = ("question_cost", "growth", "recall")


def main() -> None:
    names = sys.argv[1:2] or list(STANDARD)
    for name in names:
        import_module(f"benchmarks.{name}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
