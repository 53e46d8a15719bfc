#!/usr/bin/env python3
"""How often `contend ab` and `contend compare` are right on this machine, where the truth is known.

Compares equal variants and counts false alarms; slows one variant by a known amount and counts how often that is
found. Writes DIR/trials.csv, a line a trial. Ends with 1 if a rate contradicts what docs/compare.md promises, with 3 if
a trial failed, with 4 after fewer than six trials of a kind.
"""
import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import time

# name: (what is compared, percent that the second variant is slower, promised share of findings, limit in s)
KINDS = {
    "aa": ("ab, equal variants", 0, None, 20),
    "compare": ("compare, equal runs", 0, None, None),
    "10": ("ab, 10% slower", 10, 0.99, 180),
    "5": ("ab, 5% slower", 5, 0.95, 180),
    "2": ("ab, 2% slower", 2, None, 600),
}
FALSE_ALARMS = 0.01  # promised at most
LEAST = 6  # trials; 5 of 5 is [48%, 100%]


def share_interval(hits, n, tail=0.025):
    """95% interval of a share (Clopper and Pearson 1934), by bisection of the binomial distribution."""

    def at_most(k, p):
        return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))

    def solve(is_low):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if is_low(middle) else (low, middle)
        return low

    return (
        0.0 if not hits else solve(lambda p: 1 - at_most(hits - 1, p) < tail),
        1.0 if hits == n else solve(lambda p: at_most(hits, p) > tail),
    )


def run(command, codes=(0, 1, 4)):
    """Runs it; its stdout. Other exit codes than `codes` raise."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in codes:
        lines = done.stderr.strip().splitlines() or ["nothing"]
        raise RuntimeError(f"{command[1]}: exit code {done.returncode}: {lines[-1]}")
    return done.stdout


def trial(args, kind, folder):
    """One trial: (outcome, rounds)."""
    busy, limit = KINDS[kind][1], args.trial_max_time or KINDS[kind][3]
    common = args.more + ["--no-plots"] if kind == "compare" else args.more
    if kind == "compare":
        sides = [os.path.join(folder, side) for side in ("1", "2")]
        for side in sides:
            run([args.contend, "run", *common, "--placement=sized,partition", "--rounds=3", "--no-baselines", f"--out={side}"])
        found = json.loads(run([args.contend, "compare", *sides, "--json"]))["comparisons"]
    else:
        second = f"b=param:busy={busy}" if busy else "b"
        run([args.contend, "ab", *common, "--variant=a", f"--variant={second}", f"--max-time={limit}", f"--out={folder}"])
        with open(os.path.join(folder, "run.json")) as file:
            found = json.load(file)["comparisons"]
    gating = [one for one in found if one["gates"]]
    outcomes = {one["outcome"] for one in gating}
    first = [name for name in ("FASTER", "SLOWER", "MISSING", "UNCLEAR", "SAME") if name in outcomes]
    return (first or ["MISSING"])[0], max((one["pairs"] for one in gating), default=0)


def judge(kind, trials):
    """Prints the rates of a kind; its exit code."""
    title, busy, promise, limit = KINDS[kind]
    good = [one for one in trials if one["outcome"] not in ("ERROR", "MISSING")]
    wrong = sum(one["outcome"] == "FASTER" or (not busy and one["outcome"] == "SLOWER") for one in good)
    hits = sum(one["outcome"] == "SLOWER" for one in good) if busy else wrong
    low, high = share_interval(hits, len(good)) if good else (0, 1)
    rounds = [one["rounds"] for one in good if not busy or one["outcome"] == "SLOWER"]
    print(
        f"  {title:20} {len(good):6} {hits:8} {100 * low:6.1f}% to {100 * high:5.1f}%"
        f" {statistics.median(rounds) if rounds else math.nan:7.0f} {len(trials) - len(good):7}"
    )
    if good and share_interval(wrong, len(good))[0] > FALSE_ALARMS:
        return 1
    in_time = all(one["limit_s"] >= (limit or 0) for one in good)
    if promise and in_time and len(good) >= LEAST and high < promise:
        return 1
    return 3 if len(good) < len(trials) else 4 if len(good) < LEAST or (promise and not in_time) else 0


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="Options after -- go to contend run and ab.")
    parser.add_argument("--only", default="aa,compare,10,5", help="kinds, with commas: " + ", ".join(KINDS))
    parser.add_argument("--trials", type=int, default=6, help="of each kind, in turns")
    parser.add_argument("--max-time", type=float, default=900, help="begin no trial after so many seconds")
    parser.add_argument("--trial-max-time", type=float, help="--max-time of a trial by ab, in seconds")
    parser.add_argument("--out", default="selfcheck", help="a folder that does not exist")
    parser.add_argument("--contend", default=os.path.join(os.path.dirname(__file__), "..", "contend"))
    parser.add_argument("more", nargs="*", help="a scenario and options of ab")
    args = parser.parse_args()
    if unknown := [kind for kind in args.only.split(",") if kind not in KINDS]:
        parser.error(f"--only: unknown kind '{unknown[0]}'")
    return args


def main():
    args, begin, trials = parse(), time.monotonic(), []
    os.makedirs(args.out)
    with open(os.path.join(args.out, "trials.csv"), "w", newline="") as file:
        table = csv.DictWriter(file, ["kind", "trial", "busy_percent", "outcome", "rounds", "took_s", "limit_s", "said"])
        table.writeheader()
        for number, kind in ((n, k) for n in range(1, args.trials + 1) for k in args.only.split(",")):
            start, said = time.monotonic(), ""
            if start - begin > args.max_time:
                print("the time is over: raise --max-time for all trials", file=sys.stderr)
                break
            try:
                outcome, rounds = trial(args, kind, os.path.join(args.out, kind, str(number)))
            except (RuntimeError, OSError, ValueError, KeyError) as why:
                outcome, rounds, said = "ERROR", 0, str(why)
            limit = args.trial_max_time or KINDS[kind][3] or 0
            row = dict(kind=kind, trial=number, busy_percent=KINDS[kind][1], outcome=outcome, rounds=rounds, limit_s=limit, said=said)
            row["took_s"] = round(time.monotonic() - start, 3)
            table.writerow(row)
            file.flush()
            trials.append(row)
            print(f"{KINDS[kind][0]}, {number} of {args.trials}: {outcome} {said}", file=sys.stderr)
    print(f"  {'':20} trials  changed     95% interval  rounds  failed")
    codes = [judge(kind, [one for one in trials if one["kind"] == kind]) for kind in args.only.split(",")]
    print(f"\nTrials: {args.out}/trials.csv")
    return next((code for code in (1, 3, 4) if code in codes), 0)


if __name__ == "__main__":
    sys.exit(main())
