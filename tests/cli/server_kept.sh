#!/usr/bin/env bash
# contend run --keep: the server is started once, and its threads are moved from placement to placement.
. tests/lib/cli.sh
needs python3
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

server=(python3 tests/lib/server.py '{port}')
load='python3 tests/lib/server.py masks {port}'
common=(--no-canary --no-plots --host h --time 0.05 --force)
try() { # try CODE PATTERN OUT [OPTION...] -- COMMAND...
    local code=$1 pattern=$2 out=$3
    shift 3
    expect "$code" "$pattern" "$CONTEND_BINARY" run --keep --ready 'tcp:{port}' "${common[@]}" --out "$scratch/$out" "$@"
}
starts() { # starts OUT: how often its servers were started
    cat "$scratch/$1"/command-output/kept-*-worker?.txt | grep -c '^starts at'
}
gone() {
    none_of_this_test 'tests/lib/server.py' || fail "left running: $(pgrep -af -- 'tests/lib/server.py')"
}

# In each placement all threads of a server, also those that it started later, have just its CPUs. What is no matter of
# CPUs is skipped.
all=$(nproc)
try 0 'Servers were started once' masks --workers 2 --placement none,partition,sized,passive --rounds 3 --load "$load" \
    --metric 'cpus=cpus=([0-9]+)' -- "${server[@]}" wait=1
if [ "$all" = 2 ]; then # clients share them; with more, they have some of their own
    expect_equal none "$(cell "$scratch/masks/rows.csv" none 2 throughput median)" 4
    expect_equal partition "$(cell "$scratch/masks/rows.csv" partition 2 throughput median)" 2
fi
expect_equal "unlike masks" "$(cat "$scratch"/masks/command-output/*-client.txt | grep -c 'cpus=0')" 0
expect_equal starts "$(starts masks)" 2
for placement in sized passive; do
    expect_equal "$placement" "$(cell "$scratch/masks/rows.csv" $placement 2 status status)" skipped
done
grep -q '"keep": true' "$scratch/masks/run.json" || fail "run.json does not say it"
# Into the folder of an earlier run, which is replaced after the first round.
try 0 'Servers were started once' masks --workers 1 --placement none --rounds 3 --load "$load" -- "${server[@]}"
expect_equal "starts again" "$(starts masks)" 1
# The first load is not counted, the next ones are.
grep -c 'cpus=' "$scratch/masks/command-output/kept-1-worker0-client.txt" > "$scratch/loads"
[ "$(cat "$scratch/loads")" -gt 3 ] || fail "$(cat "$scratch/loads") loads in 3 rounds"
gone

# A server that ends under load is started anew, once.
try 3 'the second time, so nothing else is tried' dies --workers 1 --placement none --rounds 9 \
    --load 'python3 tests/lib/server.py client {port}' -- "${server[@]}" die=3
expect_equal "starts of one that ends" "$(starts dies)" 2
gone

# Variants and numbers of cores are placements; threads, variables and commands are not.
expect 0 SAME "$CONTEND_BINARY" ab --keep --workers 1 --rounds 8 --time 0.05 --host h --out "$scratch/ab" --threshold 50 \
    --ready 'tcp:{port}' --load "$load" --metric 'cpus=cpus=([0-9]+)' -V a -V b=placement:partition -P partition -- "${server[@]}"
expect_equal "starts of ab" "$(starts ab)" 1
expect 0 'cores' "$CONTEND_BINARY" tune --cores --keep --workers 1 --rounds 1 --no-canary --no-plots --time 0.05 --host h \
    --out "$scratch/cores" --ready 'tcp:{port}' --load "$load" --metric 'cpus=cpus=([0-9]+)' -- "${server[@]}"
expect_equal "starts of tune --cores" "$(starts cores)" 1
gone

refused() { # refused PATTERN COMMAND...
    expect 2 "$1" "$CONTEND_BINARY" "${@:2}" --out "$scratch/none" --keep --ready 'tcp:{port}' --load true -- true
}
expect 2 '--keep needs --load' "$CONTEND_BINARY" run --keep --out "$scratch/none" -- true
expect 2 'not for one of several jobs' "$CONTEND_BINARY" run --job "a=--keep --ready tcp:{port} --load true -- true" \
    --job 'b=-- true'
refused 'tune --keep needs --cores' tune
refused 'type -n 1' run -n 1,2 -P none
refused "variant 'b': with --keep" ab -V a -V b=env:A=1
expect 2 'not for \{threads\}' "$CONTEND_BINARY" run --keep --ready 'tcp:{port}' --load true -- echo '{cpus}'
expect 2 "variant 'A': with --keep" "$CONTEND_BINARY" ab --keep --ready 'tcp:{port}' --load true -- true 'echo 1'
[ ! -e "$scratch/none" ] || fail "a wrong command line made a directory"
finish
