"""Write data/glosses.txt.xz: WordNet 3.0's definitions and examples, one a line.

    apt-get download wordnet-base
    python -m tools.build_glosses wordnet-base_3.0-37_all.deb

The argument is Debian's package or a folder that holds WordNet's `data.noun`,
`data.verb`, `data.adj` and `data.adv`. What is done to a gloss: lower case; its words
are the runs of letters and digits, an apostrophe inside a word kept ("dog's", "19th",
"heavy-bodied" is two words, "," is none); words joined by one space. A gloss that
holds an entry of `unfit_words.txt` is left out.
"""

from __future__ import annotations

import codecs
import hashlib
import lzma
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

TARGET = Path(__file__).parents[1] / "data" / "glosses.txt.xz"
UNFIT = Path(__file__).with_name("unfit_words.txt")
WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)*")


def unfit_pattern() -> re.Pattern[str]:
    """Finds the entries of `unfit_words.txt` in a lower-case text of spaced words."""
    lines = codecs.decode(UNFIT.read_text("utf-8"), "rot13").splitlines()
    entries = [re.escape(line) for line in lines if line and line[0] != "#"]
    endings = "|".join(entry.replace(r"\*", "[a-z]*") for entry in entries)
    return re.compile(rf"(?<!\S)(?:{endings})(?:'s)?(?!\S)")


def read_glosses(folder: Path) -> Iterator[str]:
    """The gloss of every entry: what stands behind the bar. Notices begin with two
    spaces."""
    for part in ("noun", "verb", "adj", "adv"):
        with (folder / f"data.{part}").open(encoding="utf-8") as lines:
            yield from (
                line.split("|", 1)[1] for line in lines if not line.startswith("  ")
            )


def tokenise(gloss: str) -> str:
    """The words of a gloss in lower case, a space between two."""
    return " ".join(WORD.findall(gloss.lower()))


def write_glosses(folder: Path) -> None:
    """Read, tokenise, leave out, compress, and say how much of each there was."""
    glosses = [tokenise(gloss) for gloss in read_glosses(folder)]
    unfit = unfit_pattern()
    kept = [gloss for gloss in glosses if gloss and not unfit.search(gloss)]
    text = "\n".join(kept) + "\n"
    TARGET.write_bytes(
        lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME)
    )
    print(f"{len(glosses)} glosses read, {len(glosses) - len(kept)} left out")
    print(f"{len(kept)} lines, {len(text.split())} words written")
    print(hashlib.sha256(TARGET.read_bytes()).hexdigest(), TARGET.name)


def main(arguments: list[str]) -> None:
    """Unpack the Debian package if that is what was given, then write."""
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    source = Path(arguments[0])
    if source.is_dir():
        write_glosses(source)
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", source, folder], check=True)
        write_glosses(Path(folder, "usr", "share", "wordnet"))


if __name__ == "__main__":
    main(sys.argv[1:])
