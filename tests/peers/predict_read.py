"""The errors of predictions: predict_read.py FOLDER...: results of contend predict --verify, by folder and all together.

Markdown on stdout. Every cell that was predicted and then measured counts. CONTEND is the program."""

import json
import os
import subprocess
import sys


def cells(folder):
    contend = os.environ.get("CONTEND", "./build/release/contend")
    told = json.loads(subprocess.run([contend, "report", "--json", folder], capture_output=True, check=True).stdout)
    return told["prediction"]["cells"]


def errors(found, key):
    """Median, the ninth of ten and the worst of the magnitudes, in percent."""
    all_of = sorted(abs(cell[key] / cell["measured"] - 1) * 100 for cell in found)
    if not all_of:
        return "-"
    return "%.3g, %.3g, %.3g" % (all_of[len(all_of) // 2], all_of[min(len(all_of) - 1, len(all_of) * 9 // 10)], all_of[-1])


def regret(found):
    """How much the cell that was called best lacks to the best of those measured, in percent."""
    rates = [cell for cell in found if cell["measured"] and not cell["bound"]]
    if not rates:
        return "-"
    called = max(rates, key=lambda cell: cell["rate"])
    return "%.3g" % (100 * (1 - called["measured"] / max(cell["measured"] for cell in rates)))


def line(name, found, regrets):
    held = [cell for cell in found if cell["measured"] and not cell["profile"]]
    known = [cell for cell in held if not cell["bound"]]
    inside = sum(cell["low"] <= cell["measured"] <= cell["high"] for cell in known)
    bounds = [cell for cell in held if cell["bound"]]
    kept = sum(cell["measured"] <= cell["rate"] for cell in bounds)
    row = (name, len(known), errors(known, "rate"), "%d of %d" % (inside, len(known)), errors(known, "times_one"))
    print("| %s | %d | %s | %s | %s | %s | %d of %d | %s |" % (*row, errors(known, "line"), kept, len(bounds), regrets))


def main():
    print("| job | cells | error, % | inside 90% | N times one | line through 1 and 2 | bounds held | regret, % |")
    print("|---|---|---|---|---|---|---|---|")
    together = []
    for folder in sys.argv[1:]:
        found = cells(folder)
        together += found
        line(os.path.basename(folder.rstrip("/")), found, regret(found))
    line("**all**", together, "")
    print("\nErrors: median, nine in ten, worst. Regret: what the cell called best lacks to the best measured one.")


main()
