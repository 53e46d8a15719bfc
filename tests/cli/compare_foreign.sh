#!/usr/bin/env bash
# contend compare of files that SuperBench, nccl-tests and nvbandwidth wrote, and contend validate --superbench. The files
# are made here, in the form of these programs.
. tests/lib/cli.sh
needs jq
cd "$scratch" || exit 1

compare() { # compare CODE PATTERN ARGUMENT...
    expect "$1" "$2" "$CONTEND_BINARY" compare "${@:3}"
}

# nccl FILE TIME: a file of all_reduce_perf -J, which records its environment.
nccl() {
    jq -n --argjson t "$2" '{version: 2, args: ["./build/all_reduce_perf", "-J", "x"], env: ["TOKEN=hunter2"],
        config: {nthreads: 1, ngpus: 2, devices: [{rank: 0}]},
        results: [{size: 8388608, type: "float", redop: "sum", root: "    -1",
                   out_of_place: {time: $t, alg_bw: 1, bus_bw: (9000 / $t), nwrong: 0}, in_place: null}]}' > "$1"
}
# nvbandwidth FILE RATE
nvbandwidth() {
    jq -n --arg r "$2" '{nvbandwidth: {testcases: [{name: "device_to_device_memcpy_read_ce", status: "Passed",
        bandwidth_description: "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)", sum: 1,
        bandwidth_matrix: [["N/A", $r], ["276.1", "N/A"]]}, {name: "multinode", status: "Running"},
        {name: "multinode", status: "Waived"}]}, testcases: null}' > "$1"
}
# superbench NODE RATE: a line of results-summary.jsonl
superbench() {
    printf '{"node": "%s", "nccl-bw/allreduce_8388608_busbw:0": %s, "monitor/gpu_temperature:0": 41}\n' "$@"
}

for i in 1 2 3 4 5; do
    nccl "nccl-base$i.json" "100.$i"
    nccl "nccl-new$i.json" "150.$i"
    nvbandwidth "nvb-base$i.json" "270.$i"
    nvbandwidth "nvb-new$i.json" "270.$((6 - i))"
    superbench n1 "100.$i" >> base.jsonl
    superbench n2 "200.$i" >> base.jsonl
    superbench n1 "100.$i" >> new.jsonl
    superbench n2 "150.$i" >> new.jsonl
done
compare 1 '^SLOWER +time, us +100 +150 +\+49' nccl-base?.json -- nccl-new?.json
compare 1 'all_reduce_perf, 2 ranks, float sum, root -1, 8388608 B' nccl-base?.json -- nccl-new?.json
compare 0 '^SAME +bandwidth 1-0, GB/s' nvb-base?.json -- nvb-new?.json
compare 1 '^new is 25% slower than base .*: allreduce_8388608_busbw:0 of n2,$' base.jsonl new.jsonl
compare 1 '^nccl-bw. Metrics that gate: 1 SLOWER, 1 SAME\.$' base.jsonl new.jsonl
compare 1 'gpu_temperature:0' -v base.jsonl new.jsonl
compare 1 '^\| \*\*SLOWER\*\* \| `allreduce_8388608_busbw:0`' --markdown base.jsonl new.jsonl
compare 0 '^FASTER' new.jsonl base.jsonl --junit junit.xml --html page.html
grep -q 'testcase' junit.xml && grep -q 'allreduce_8388608_busbw' page.html || fail 'no JUnit or page'

# A single value decides nothing, and each form says so.
compare 4 '^No verdict on 1 metric: 1 UNCLEAR\.$' nccl-base1.json nccl-new1.json
compare 4 'A single value has no interval' nccl-base1.json nccl-new1.json
"$CONTEND_BINARY" compare nccl-base1.json nccl-new1.json --json > out.json
jq -e '.base == ["nccl-base1.json"] and .new == ["nccl-new1.json"] and .exit_code == 4 and
    all(.comparisons[]; .low == null) and ([.findings[].id] == ["comparison", "single_values", "foreign_results"])' \
    out.json > /dev/null || fail "$(cat out.json)"
superbench other 100 > other.jsonl
superbench n1 100 > one.jsonl
compare 4 'Two machines: base is of n1, new of other' one.jsonl other.jsonl

# Bad input is one sentence that shows nothing of what is in the file.
bad() { # bad PATTERN ARGUMENT...
    local pattern=$1
    expect 2 "^contend: error: $pattern" "$CONTEND_BINARY" compare "${@:2}"
    "$CONTEND_BINARY" compare "${@:2}" > out 2> err
    [ "$(wc -l < err)" = 1 ] && [ ! -s out ] && ! grep -q hunter2 err || fail "not one sentence: $(cat out err)"
}
sed 's/"TOKEN=hunter2"/TOKEN=hunter2"/' nccl-new1.json > cut.json
bad "'cut.json': line [0-9]+: not JSON" nccl-base1.json cut.json
{ cat base.jsonl; echo '{"node": "n1", "a/b": NaN}'; } > nan.jsonl
bad "'nan.jsonl': line 11: not JSON" nan.jsonl new.jsonl
printf '{"node": "n", "a/bw": 1e999}' > huge.jsonl
bad "'huge.jsonl': line 1: not JSON" huge.jsonl new.jsonl
printf '{"node": "n", "a/bw": 1, "a/bw": 2}' > twice.jsonl
bad "'twice.jsonl': line 1: not JSON, or a key twice" twice.jsonl new.jsonl
: > empty.jsonl
bad "'empty.jsonl': it is empty" empty.jsonl new.jsonl
echo '{"x": 1}' > unknown.json
bad "'unknown.json': line 1: of no known kind" unknown.json new.jsonl
bad "'new.jsonl': line 1: a result of SuperBench, and those before it are of nccl-tests" nccl-base1.json new.jsonl
bad "'./new.jsonl' is given twice" new.jsonl ./new.jsonl
mkdir directory
bad "'directory' is no file" new.jsonl directory
bad '--history, --allow and --across need results of contend' base.jsonl new.jsonl --across
printf '{"node": "n\\u001b[31m", "a\\u001b[2J/bw\\u009b": 5}' > escape.jsonl
"$CONTEND_BINARY" compare escape.jsonl one.jsonl > out 2>&1
LC_ALL=C grep -q $'\x1b' out && fail "an escape reaches the terminal: $(cat -v out)"

# validate --superbench appends a line each time, which compare reads.
judge() {
    expect 4 . "$CONTEND_BINARY" validate --no-measure --superbench lines/%h.jsonl
}
judge
judge
jq -es 'length == 2 and all(.[]; .node != "" and .["contend/return_code"] == 4 and
    all(del(.node)[]; type == "number"))' lines/*.jsonl > /dev/null || fail "$(cat lines/*)"
head -1 lines/*.jsonl > before.jsonl
compare 4 'return_code' before.jsonl lines/*.jsonl
expect 2 '--superbench is for this server' "$CONTEND_BINARY" validate fleet lines --superbench x
exit "$failures"
