#!/usr/bin/env python3
"""commands.py BINARY PAGE...: tries each command of contend that a page shows, and prints those that it refuses.

Shown: in a block or between backticks; not in a block of YAML. `run`, `bench`, `tune` and `ab` are tried with
--dry-run. The others get an option that does not exist behind theirs: they must refuse that one, so all before it
is known. Nothing is measured. Words in capitals stand for names; a refusal for want of GPUs counts as none. Run it
in an empty folder: it makes the programs that the pages start.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

PLANS = ("run", "bench", "tune", "ab")
SCRIPT = ("test", "install", "bundle", "package", "release")  # ./contend's own
STUBS = ("train", "faster", "serve", "python", "torchrun", "mpirun", "all_reduce_perf")
NAMES = {"NAME": "prep", "COMMAND": "train"}


def shown(text):
    """Lines of blocks, and what stands between backticks."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.S | re.M):
        if language != "yaml":
            yield from block.replace("\\\n", " ").splitlines()
    yield from re.findall(r"`((?:\./)?contend [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S))


def commands(line):
    """[words behind the program]: a line of the shell may have several, also in an argument."""
    line = re.sub(r"\$\([^()]*\)", "X", line).replace("/shared/", "shared/")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # no shell: a table or a sentence with an apostrophe
        return
    for i, word in enumerate(words):
        if " contend " in word:
            yield from commands(word)
        if word == "contend" or word.endswith("/contend") and "=" not in word:
            rest = words[i + 1:]
            end = next((k for k, other in enumerate(rest) if re.fullmatch("[;&|<>]+", other)), len(rest))
            if end and re.fullmatch("[a-z]+", rest[0]):
                yield [NAMES.get(other, other) for other in rest[:end]]


def is_known(binary, words):
    plans = words[0] in PLANS
    added = ["--dry-run"] if plans else ["--no-such-option"] * 2  # the first may be the value of an option
    at = words.index("--") if "--" in words else len(words)
    done = subprocess.run([binary, *words[:at], *added, *words[at:]], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)
    if plans:
        return done.returncode == 0 or "it needs GPUs" in done.stderr, done.stderr.strip()
    return f"unknown option '{added[0]}'" in done.stderr, done.stderr.strip()


def main():
    binary, pages = sys.argv[1], [pathlib.Path(page) for page in sys.argv[2:]]
    texts = [(page, page.read_text(encoding="utf-8")) for page in pages]
    for name in STUBS:
        os.symlink("/bin/true", name)
    for side in ("base", "new"):
        os.mkdir(side)
        os.symlink(binary, f"{side}/contend")
    os.environ["PATH"] = os.getcwd() + ":" + os.environ["PATH"]
    tried = {}
    for page, text in texts:
        for words in (words for line in shown(text) for words in commands(line)):
            if words[0] not in SCRIPT and words != ["ab"]:  # a name, and no command: it needs variants
                key = shlex.join(words)
                tried[key] = tried.get(key) or is_known(binary, words)
                if not tried[key][0]:
                    print(f"{page}: contend {key}: {tried[key][1]}")
    print(f"{len(tried)} commands", file=sys.stderr)


main()
