#!/usr/bin/env python3
"""quoted.py PAGE...: prints each number that a page quotes beside a result and that the result does not have.

Beside a result: in a sentence with a link to a result that has a summary.txt, and in the table or block below
that paragraph (a picture may stand between). A number: digits with a unit of what is measured, such as 21x, 5.4%,
2.24 M or 6.85 ms; in a table or block also digits with a point, and three digits or more. It is there if it is
what summary.txt, or, but for blocks, rows.csv under that unit, rounds to. Small numbers are found by chance: what
this catches is a result that was replaced, and most slips in a number of three digits.
"""
import csv
import pathlib
import re
import sys

NUMBER = re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?:\s?(x|%|k|M|ms|us|GB/s)(?![\w/]))?")
SCALE = {"k": 1e3, "M": 1e6, "ms": 1e-3, "us": 1e-6, "%": 0.01}
OF_ROWS = {"k": "items/s", "M": "items/s", "ms": "s", "us": "s", "GB/s": "GB/s"}
LINK = re.compile(r"\]\(([^)#]*results/[^)#]*)\)")


def numbers(text):
    """[(digits, unit)]; both ends of a range such as 8.4-21 count."""
    return NUMBER.findall(re.sub(r"(?<=\d)-(?=\d)", " ", text))


def facts(result, rows):
    """[(value, unit, of what)], of what: the text, or a unit of rows.csv."""
    found = [(float(digits.replace(",", "")), unit, "text") for digits, unit in numbers((result / "summary.txt").read_text())]
    if rows and (result / "rows.csv").exists():
        for row in csv.DictReader((result / "rows.csv").open()):
            found += [(float(row[key]), "", row["unit"]) for key in ("median", "ci_low", "ci_high") if row[key]]
    return found


def is_there(digits, unit, known):
    value = float(digits.replace(",", ""))
    half = 0.5001 * 10 ** -len(digits.partition(".")[2])
    scale = SCALE.get(unit, 1)
    for number, its_unit, of in known:
        if of == "text" and (its_unit == unit or "" in (unit, its_unit)) and abs(number - value) <= half:
            return True
        if its_unit == "" and of in ("text", OF_ROWS.get(unit)) and abs(number / scale - value) <= half:
            return True
        if unit == "%" and its_unit in ("", "x") and abs(abs(number - 1) / scale - value) <= half: # a ratio
            return True
    return False


def check(page):
    """Yields what is missing."""
    below = []  # the results of the paragraph above
    whole_blocks = re.sub(r"```.*?```", lambda block: re.sub(r"\n\s*\n", "\n", block[0]), page.read_text(), flags=re.S)
    for paragraph in re.split(r"\n\s*\n", whole_blocks):
        table = paragraph.startswith(("|", "```"))
        if paragraph.startswith("<picture>"):
            continue
        texts = [paragraph] if table else re.split(r"(?<=[.:;])\s+(?=[A-Z`\[])", paragraph)
        last = below if table else []
        for text in texts:
            named = last if table else [page.parent / path for path in LINK.findall(text)]
            named = [result for result in named if (result / "summary.txt").exists()]
            last = named or last
            known = [fact for result in named for fact in facts(result, not paragraph.startswith("```"))]
            for digits, unit in numbers(LINK.sub("]", text)) if named else []:
                if (unit or table and len(digits) > 2) and not is_there(digits, unit, known):
                    yield f"{page}: {digits} {unit}".rstrip() + f" is not in {', '.join(map(str, named))}"
        below = [] if table else last


missing = [line for name in sys.argv[1:] for line in check(pathlib.Path(name))]
print("".join(line + "\n" for line in missing), end="")
sys.exit(bool(missing))
