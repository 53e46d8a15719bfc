#!/usr/bin/env bash
# results/README.md names each key of what --json prints, in the row of the command.
. tests/lib/cli.sh
: "${CONTEND_BUSY:?}"
needs two-cpus python3 taskset
. tests/lib/plant.sh

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
named = row + findings + compared * ("`comparisons`" in row) + " ".join(columns) * (command == "run, bench, report")
words = set(re.findall(r"`(\w+)(?:\[\])?`", named))
skipped = {"machine", "variants", "used", "recommended", "median"}  # as in other rows or run.json, or CPUs
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
run 'compare of more fingerprints' compare $results/fingerprint/{1,2,3}.json
run 'place' place -n 2 -P partition -- true
run 'ab' ab --device sim -V a -V b -n 1 -P none --time 0.1 --max-time 1 -o "$scratch/ab"
run 'validate' validate --only cpus_online
named 'run dose, its report' <(printf '{"dosing": %s, "findings": []}' "$(cat $results/dose.json)")
named 'run incidents' $results/incidents.json

# Two processes that share a CPU, while another one idles.
plant taskset -c "$first" "$CONTEND_BUSY"
plant taskset -c "$first" "$CONTEND_BUSY"
finds() {
    "$CONTEND_BINARY" doctor --json --time 1 --pid "${faulty[0]}" --pid "${faulty[1]}" >"$scratch/out" 2>"$scratch/log"
    grep -q '"check":' "$scratch/out"
}
retry finds || fail "doctor found nothing: $(cat "$scratch/out")"
named 'doctor' "$scratch/out"
run 'doctor --live' doctor --live --looks 1
finish
