"""Make the gallery: ``python -m examples.gallery [PAGE]``.

Writes the page, by default ``docs/learn/generated/gallery.md``, and its pictures beside it.
"""

import sys
import time
from pathlib import Path

from examples.gallery.page import probability, write

PAGE = Path(__file__).parents[2] / "docs" / "learn" / "generated" / "gallery.md"


def main(words):
    path = Path(words[0]) if words else PAGE
    path.parent.mkdir(parents=True, exist_ok=True)

    def told(fault, judged):
        print(fault.name, judged.verdict, probability(judged), dict(judged.counts), sep="; ")

    write(path, told=told)
    print(f"{path.name}: {time.process_time():.0f} s of processor time")


if __name__ == "__main__":
    main(sys.argv[1:])
