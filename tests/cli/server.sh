#!/usr/bin/env bash
# contend run --load CLIENT -- SERVER: the server is started, awaited, loaded and ended; what is measured is its client.
. tests/lib/cli.sh
needs python3
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

server=(python3 tests/lib/server.py '{port}')
load="python3 tests/lib/server.py client {port} 'rate=25' 'p99 4 ms'"
common=(--no-canary --no-plots --host h --rounds 1 --time 0.05 --force)
one=("$CONTEND_BINARY" run --workers 1 --placement none --no-baselines "${common[@]}")

try() { # try CODE PATTERN OUT [OPTION...] -- COMMAND...: one server, one round
    local code=$1 pattern=$2 out=$3
    shift 3
    expect "$code" "$pattern" "${one[@]}" --out "$scratch/$out" "$@"
}
said() { # said FILE PATTERN
    grep -qE -- "$2" "$scratch/$1" || fail "no /$2/ in $1: $(cat "$scratch/$1")"
}
gone() {
    none_of_this_test 'tests/lib/server.py' || fail "left running: $(pgrep -af -- 'tests/lib/server.py')"
}

# Two servers: rates are added, of costs the worst counts; each has its own port, and the client its own output.
expect 0 'rate' "$CONTEND_BINARY" run --workers 2 --placement none,sized --no-baselines "${common[@]}" \
    --out "$scratch/two" --ready 'tcp:{port}' --load "$load" --metric 'rate=rate=([0-9.]+)' --metric 'p99=p99 ([0-9.]+)' \
    --less-is-better p99 -- "${server[@]}"
for placement in none sized; do
    for want in 'throughput 50' 'rate 50' 'p99 4'; do
        read -r metric value <<< "$want"
        expect_equal "$placement, $metric" "$(cell "$scratch/two/rows.csv" $placement 2 "$metric" median)" "$value"
    done
done
share=$(cell "$scratch/two/rows.csv" none 2 client_share median)
awk -v share="$share" 'BEGIN { exit !(share > 0 && share < 1) }' || fail "the client's share of CPU time: '$share'"
expect_equal "the unit" "$(cell "$scratch/two/rows.csv" none 2 throughput unit)" rate
ports=$(cat "$scratch"/two/command-output/none-2-worker?.txt | sed -n 's/starts at \([0-9]*\) .*/\1/p' | sort -u | wc -l)
expect_equal "ports" "$ports" 2
said two/command-output/none-2-worker0-client.txt '^p99 4 ms$'
expect 0 '4 ms|p99' "$CONTEND_BINARY" report "$scratch/two"
gone

# The rows of a command without a server may have names, too; a lone expression is taken as it is.
try 0 metric plain --metric 'rate=([0-9.]+)' -- echo rate=25
expect_equal "one metric" "$(cell "$scratch/plain/rows.csv" none 1 throughput median)" 25
try 0 rps named --metric 'rps=rate=([0-9.]+)' --metric 'size=size ([0-9.]+)' -- printf 'rate=25\nsize 0\n'
expect_equal "named" "$(cell "$scratch/named/rows.csv" none 1 size median)" 0
try 2 "contend has a metric 'steal'" none --metric 'a=(1)' --metric 'steal=(2)' -- true

# What a placement sets for a server is not its client's, which has contend's own environment.
show='OMP ${OMP_NUM_THREADS-unset} GPU ${CUDA_VISIBLE_DEVICES-unset} ${CONTEND_WORKER-unset} ${MINE-unset}'
MINE=4 expect 0 'runs/s' env -u OMP_NUM_THREADS "$CONTEND_BINARY" run --workers 2 --placement "sized" --no-baselines \
    "${common[@]}" --out "$scratch/env" --ready 'tcp:{port}' --load "sh -c 'echo \"$show\"; exec $(printf '%s' "$load" | tr -d "'" | sed 's/ rate=25.*//')'" \
    -- sh -c "echo \"$show\"; exec python3 tests/lib/server.py {port}"
said env/command-output/sized-2-worker0.txt '^OMP [0-9]+ GPU .* 0 4$'
said env/command-output/sized-2-worker0-client.txt '^OMP unset GPU unset unset 4$'

# Ways to be ready: an answer after some refusals, a line, and a port that opens late.
for how in 'http://localhost:{port}/health health=3' 'line:^up wait=0.3' 'tcp:{port} wait=0.3'; do
    read -r ready option <<< "$how"
    try 0 'metric' ready --ready "$ready" --load "$load" --metric 'p99 ([0-9.]+)' --less-is-better -- \
        "${server[@]}" "$option"
    expect_equal "after $ready" "$(cell "$scratch/ready/rows.csv" none 1 throughput median)" 0.25
done
# Without a number the client's own time counts, which the start of the server is no part of.
try 0 'runs/s' time --ready 'tcp:{port}' --load "$load" -- "${server[@]}" wait=3
awk -v took="$(cell "$scratch/time/rows.csv" none 1 step_time median)" 'BEGIN { exit !(took > 0.2 && took < 3) }' ||
    fail "a run of the client took '$(cell "$scratch/time/rows.csv" none 1 step_time median)'"

# Clients have cores of their own, the same in all arms, if every server keeps one.
if [ "$(nproc)" -ge 2 ]; then
    "${one[@]}" --dry-run --ready 'tcp:{port}' --load true -- true > "$scratch/dry" 2>&1
    said dry 'clients +CPUs [0-9]+'
    try 0 'runs/s' apart --ready 'tcp:{port}' --load \
        "python3 -c 'import os, sys; os.execvp(sys.argv[1], [print(sorted(os.sched_getaffinity(0)), flush=True)] and sys.argv[1:])' $load" \
        -- "${server[@]}"
    for cpu in $(grep -oE '^\[[0-9, ]+\]' "$scratch/apart/command-output/none-1-worker0-client.txt" | tr -d '[],'); do
        ! grep -qE "on \[(.*[ ,])?${cpu}[],]" "$scratch/apart/command-output/none-1-worker0.txt" ||
            fail "the client shares CPU $cpu: $(cat "$scratch/apart/command-output/"*)"
    done
fi
all=$(nproc)
expect 0 'Clients disturb their servers' "$CONTEND_BINARY" run --workers "$all" --placement none --no-baselines \
    "${common[@]}" --out "$scratch/shared" --ready 'tcp:{port}' --load "$load" -- "${server[@]}"
try 2 'clients leave no core' none --ready 'tcp:{port}' --load true --load-cores 8192 -- true

# A client that does nothing but compute is the limit, unless others take its CPU; a number that it prints twice counts
# as it was last.
try 0 'The client is the limit|other programs used' busy --ready 'tcp:{port}' --metric 'n ([0-9]+)' --load \
    "python3 -c 'import time
while time.process_time() < 1: pass
print(\"n 3\"); print(\"n 5\")'" -- "${server[@]}"
expect_equal "the last match" "$(cell "$scratch/busy/rows.csv" none 1 throughput median)" 5
said busy/summary.txt 'matched several times'

# What goes wrong, one sentence each.
try 3 'worker 0: the server was not ready within 1 s .*; its last line: starts at' deaf --setup-limit 1 \
    --ready 'tcp:{port}' --load "$load" -- "${server[@]}" deaf=1
try 3 'the server exited with status 3 before it was ready; its last line: no data' early \
    --ready 'tcp:{port}' --load "$load" -- sh -c 'echo no data; exit 3'
try 3 'the server exited with status 0 before it was ready' daemon --ready 'tcp:{port}' --load "$load" -- \
    sh -c '"$@" & sleep 0.1' sh "${server[@]}" wait=30
try 3 'the server exited with status 7 under load; its last line: broken' dies --ready 'tcp:{port}' --load "$load" -- \
    "${server[@]}" die=3
try 3 'the client exited with status 4; its last line: bad' client --ready 'tcp:{port}' --load "sh -c 'echo bad; exit 4'" \
    -- "${server[@]}"
try 3 'the client printed nothing that --metric matches \(p99\); its last line: p99 4 ms' nothing --ready 'tcp:{port}' \
    --load "$load" --metric 'rate=rate=([0-9]+)' --metric 'p99=p99 is ([0-9]+)' -- "${server[@]}"
python3 -c 'import socket, time
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(9)
print(s.getsockname()[1], flush=True)
time.sleep(60)' > "$scratch/port" &
stranger=$!
wait_for 20 test -s "$scratch/port"
try 3 "port $(cat "$scratch/port") is taken: another program" taken --ready "tcp:$(cat "$scratch/port")" --load "$load" -- \
    "${server[@]}"
kill $stranger
try 0 'did not end at SIGTERM and was killed' stays --grace 0.2 --ready 'tcp:{port}' --load "$load" -- "${server[@]}" stay=1
gone

try 2 "no program 'contend-no-such'" none --ready 'tcp:{port}' --load contend-no-such -- true
try 2 'a quote is not closed' none --ready 'tcp:{port}' --load "sh -c '" -- true
try 2 'no port of 1 to 65535' none --ready tcp:x --load true -- true
try 2 'unknown placeholder \{prot\}' none --ready 'tcp:{prot}' --load true -- true
try 2 'unknown placeholder \{prot\}' none --ready 'tcp:{port}' --load 'echo {prot}' -- true
try 2 '--load needs --ready' none --load true -- true
try 2 '--load is not for cgroups' none --ready 'tcp:{port}' --load true --cpu-max 0.5 -- true
try 2 "no --metric is called 'p9'" none --ready 'tcp:{port}' --load true --metric 'p99=(1)' --less-is-better p9 -- true
[ ! -e "$scratch/none" ] || fail "a wrong command line made a directory"

# ab compares two servers under the same load, by each of its numbers.
expect 0 'p99' "$CONTEND_BINARY" ab --workers 1 --rounds 8 --time 0.05 --host h --out "$scratch/ab" --ready 'tcp:{port}' \
    --load "sh -c '$(printf '%s' "$load" | tr -d "'" | sed 's/ rate=25.*//') rate=2 \"p99 \$(cat $scratch/ab{port})\"'" \
    --metric 'rate=rate=([0-9.]+)' --metric 'p99=p99 ([0-9.]+)' --less-is-better p99 -- \
    "sh -c 'echo 4 > $scratch/ab{port}; exec python3 tests/lib/server.py {port}'" \
    "sh -c 'echo 8 > $scratch/ab{port}; exec python3 tests/lib/server.py {port}'"
said ab/summary.txt 'SLOWER +p99'
gone
finish
