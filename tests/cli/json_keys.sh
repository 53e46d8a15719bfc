#!/usr/bin/env bash
# results/README.md names each key of what --json prints, in the row of the command.
. tests/lib/cli.sh
command -v python3 >/dev/null || skip "python3 is missing"

named() { # named COMMAND FILE: COMMAND as in the first column
    python3 - "$@" <<'END' || fail "results/README.md does not name them"
import json, re, sys
command, path = sys.argv[1:]
page = open("results/README.md").read()
section = page[page.index("## JSON on stdout"):page.index("## A trace")]
row = next(line for line in section.splitlines() if line.replace("`", "").startswith("| " + command + " |"))
columns = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page[page.index("## rows.csv"):page.index("## rounds.csv")], re.M)
findings = next(line for line in page.splitlines() if line.startswith("| `findings` |"))
compared = next(line for line in page.splitlines() if line.startswith("| `comparisons` |"))
words = set(re.findall(r"[A-Za-z_0-9]+", row + findings + " ".join(columns) * (command == "run, bench, report")))
if "`comparisons`" in row:
    words |= set(re.findall(r"[a-z_]+", compared)) | {"metric", "unit", "better", "base_median", "other_median", "base_runs", "other_runs"}
skipped = {"machine", "variants", "used", "recommended"}  # as in run.json, or CPUs
def walk(value):
    for part in value if isinstance(value, list) else []:
        walk(part)
    for key, part in value.items() if isinstance(value, dict) else []:
        if key not in words:
            print(f"{command}: {key}", file=sys.stderr)
            sys.exit(1)
        if key not in skipped:
            walk(part)
document = json.load(open(path))
assert document
walk(document)
END
}

run() { # run COMMAND ARGUMENT...
    local command=$1 rc=0
    shift
    "$CONTEND_BINARY" "$1" --json "${@:2}" >"$scratch/out" 2>"$scratch/log" </dev/null || rc=$?
    case $rc in
        0 | 1 | 4) named "$command" "$scratch/out" ;;
        *) fail "$*: exit $rc: $(cat "$scratch/log")" ;;
    esac
}

results=results/h100-vm
run 'run, bench, report' report $results/pipeline
run 'tune' report $results/tune
run 'compare' compare $results/pipeline $results/exec
run 'compare of two fingerprints' compare $results/fingerprint/1.json $results/fingerprint/2.json
run 'place' place -n 2 -P partition -- true
run 'ab' ab --device sim -V a -V b -n 1 -P none --time 0.1 --max-time 1 -o "$scratch/ab"
run 'validate' validate --only cpus_online
named 'run dose, its report' <(printf '{"dosing": %s, "findings": []}' "$(cat $results/dose.json)")
named 'run incidents' $results/incidents.json

# A process that waits for its only CPU.
taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')" bash -c 'for i in 1 2 3; do (while :; do :; done) & done; wait' &
crowd=$!
run 'doctor' doctor --time 1
grep -q '"check":' "$scratch/out" || fail "doctor found nothing: $(cat "$scratch/out")"
run 'doctor --live' doctor --live --looks 1
kill $(pgrep -P $crowd) $crowd
wait 2>/dev/null
finish
