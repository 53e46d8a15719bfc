#!/usr/bin/env bash
# A decoder's server (decoder.py) under load, over cores and replicas, beside PyTorch jobs, against the scenario serve. By hand,
# on a machine with PyTorch, transformers and GPUs. CSV files go to OUT; each study's seconds on 16 CPUs are in brackets.
#
#   tests/peers/decoder.sh OUT [STUDY...]        CONTEND=./build/release/contend
#
#   sweep    [125] 1, 2 and 4 replicas on 1 to all cores, together on them
#   beside   [170] beside two preprocessors (threads by default, sized, partitioned) and a DataLoader
#   rule     [105] the process structure of vLLM, on 1 to 8 cores: are 2 + N cores for N GPUs enough?
#   model    [50]  contend run serve on the same cores
#   harness  [80]  two replicas under placements, by contend run --load
#   jobs_at_once [280] beside's preprocessors, as jobs of contend run --job
#   follow   [160] after jobs_at_once: its recommendation as printed, beside the server alone, in alternation
#
# jobs_at_once and follow send RATE requests a second (2), in ROUNDS rounds (1, 2).
#
# Servers of sweep, beside and rule start once and are moved by affinity, all threads of them. That is fair, as they have no
# team of threads sized at the start: the model runs on the GPU, and PyTorch's CPU pool starts when first used.
# The last core in eight (at least one) is the clients', and nothing else runs there.
set -u
out=$(readlink -f "$1") here=$(dirname "$(readlink -f "$0")")
shift
contend=${CONTEND:-$here/../../build/release/contend} python=${PYTHON:-python3}
studies=("$@")
[ ${#studies[@]} -gt 0 ] || studies=(sweep beside rule model harness)
work=$(mktemp -d) cpus=$(nproc) gpus=$(nvidia-smi -L 2>/dev/null | grep -c ^GPU)
[ "$gpus" -gt 0 ] || gpus=1
clients=$((cpus / 8 > 0 ? cpus / 8 : 1))
top=$((cpus - clients)) client_cpus=$((cpus - clients))-$((cpus - 1))
port=8100 servers=() started=()
seconds=${SECONDS_EACH:-5}
unset OMP_NUM_THREADS MKL_NUM_THREADS OMP_WAIT_POLICY
trap 'end "${started[@]}"; tail -n 300 "$work/output.txt" >"$out/output.txt" 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$out"

log() { printf '%4d s  %s\n' "$SECONDS" "$*" | tee -a "$out/log.txt"; }

# session SID: pids of its processes that live.
session() { sed -n "s/^\([0-9]*\) (.*) [A-Y] [0-9]* [0-9]* $1 .*/\1/p" /proc/[0-9]*/stat 2>/dev/null; }

end() { # end SID...
    local sid
    for sid; do session "$sid" | xargs -r kill -9 2>/dev/null; done
    for sid; do await 20 is_gone "$sid"; done
}
is_gone() { [ -z "$(session "$1")" ]; }

start() { # start CPUS COMMAND...: in a session of its own, which is $!
    local on=$1
    shift
    setsid taskset -c "$on" "$@" >>"$work/output.txt" 2>&1 &
    disown # else the shell tells of each that is killed
    started+=($!)
}

move() { # move CPUS SID...: all threads of the sessions
    local on=$1 sid pid
    shift
    for sid; do
        for pid in $(session "$sid"); do taskset -acp "$on" "$pid" >/dev/null 2>&1; done
    done
}

health() { # health PORT: prints the text of /health; fails unless it is 200
    (exec 3<>"/dev/tcp/127.0.0.1/$1" && printf 'GET /health HTTP/1.0\r\n\r\n' >&3 && timeout 2 cat <&3) 2>/dev/null |
        awk 'NR == 1 { ok = / 200 / } END { if (ok) print; exit !ok }'
}

await() { # await TRIES COMMAND...: until it succeeds, tried every half second
    local tries=$1 i
    shift
    for ((i = 0; i < tries; i++)); do
        "$@" && return
        sleep 0.5
    done
    log "FAILED: $*: $(tail -n 4 "$work/output.txt")"
    return 1
}

is_up() { health "$1" >/dev/null; }
is_up_or_gone() { is_up "$1" || is_gone "$2"; }
is_idle() { [ "$(health "$1")" = 0 ]; }

serve() { # serve N OPTION...: N servers at ports from 8101 on, one after the other over the GPUs
    local n=$1 i
    shift
    servers=()
    for ((i = 0; i < n; i++)); do
        CUDA_VISIBLE_DEVICES=${VISIBLE:-$((i % gpus))} start "0-$((top - 1))" "$python" "$here/decoder.py" --port $((port + 1 + i)) "$@"
        servers+=($!)
    done
    sleep 1 # until each has its session
    for ((i = 0; i < n; i++)); do
        await 240 is_up_or_gone $((port + 1 + i)) "${servers[i]}" && is_up $((port + 1 + i)) && continue
        log "FAILED: the server on $((port + 1 + i)) did not start: $(tail -n 12 "$work/output.txt")"
        end "${servers[@]}"
        return 1
    done
    log "$n servers are up: $*"
    local pids=()
    for ((i = 0; i < n; i++)); do # the first seconds of each are slow: kernels are loaded as batches come
        taskset -c "$client_cpus" "$python" "$here/decoder_client.py" "http://localhost:$((port + 1 + i))" --rate 8 --tokens 32 \
            --seconds 6 >/dev/null 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
}

# ticks SID: CPU time of a session's processes, in 1/100 s.
ticks() {
    local pid
    for pid in $(session "$1"); do sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null; done | awk '{ n += $12 + $13 } END { print n + 0 }'
}

columns=(ttft_p50_ms ttft_p99_ms tpot_p50_ms tpot_p99_ms tokens_s requests unfinished)

# load FILE N KEYS CLIENT-OPTION...: a client for each of N servers; FILE gets a row each: KEYS, number, columns, CPUs used.
load() {
    local file=$1 n=$2 keys=$3 i pids=() column row used=() begun ended
    shift 3
    for ((i = 0; i < n; i++)); do await 20 is_idle $((port + 1 + i)) || return; done
    begun=$EPOCHREALTIME
    for ((i = 0; i < n; i++)); do
        used+=("$(ticks "${servers[i]}")")
        taskset -c "$client_cpus" "$python" "$here/decoder_client.py" "http://localhost:$((port + 1 + i))" \
            --seconds "$seconds" --seed $((i + 1)) "$@" >"$work/client$i.txt" 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
    ended=$EPOCHREALTIME
    for ((i = 0; i < n; i++)); do
        row=$keys,$i
        for column in "${columns[@]}"; do
            row+=,$(awk -v name="$column" '$1 == name { print $2 }' "$work/client$i.txt")
        done
        row+=,$(awk -v n=$(($(ticks "${servers[i]}") - used[i])) -v from="$begun" -v to="$ended" 'BEGIN { printf "%.2f", n / 100 / (to - from) }')
        echo "$row" >>"$out/$file"
        log "$file $row"
        grep -q tokens_s "$work/client$i.txt" || log "FAILED: $(tail -n 3 "$work/client$i.txt")"
    done
}

header() { # header FILE KEYS
    printf '%s,replica' "$2" >"$out/$1"
    printf ',%s' "${columns[@]}" cpus >>"$out/$1"
    echo >>"$out/$1"
}

cores_up_to() { # cores_up_to MOST: powers of two, then MOST
    local n
    for ((n = 1; n < $1; n *= 2)); do echo $n; done
    echo "$1"
}

sweep() {
    local n cores
    header sweep.csv gpus,replicas,cores
    serve 4 --engine thread || return
    for n in ${REPLICAS:-1 2 4}; do
        [ $n -ge "$gpus" ] || continue
        for cores in $(cores_up_to "$top"); do
            move "0-$((cores - 1))" "${servers[@]:0:n}"
            load sweep.csv $n "$gpus,$n,$cores" --rate 4 --tokens 32 || break 2
        done
    done
    end "${servers[@]}"
}

lines() { cat "$@" 2>/dev/null | wc -l; }
works() { [ "$(lines "$1")" -ge 3 ]; }

# neighbours FILE NAME CPUS-OF-THE-SERVER [CPUS THREADS COMMAND]...: THREADS 0 means as they come. Alone first (the server idle),
# then beside the loaded server: steps a second of all.
neighbours() {
    local file=$1 name=$2 on=$3 i=0 sids=() logs=() before idle=0 beside=0 first
    shift 3
    move "$on" "${servers[0]}"
    while [ $# -gt 0 ]; do
        rm -f "$work/steps$i"
        if [ "$2" = 0 ]; then
            start "$1" "$python" "$here/"${3/LOG/"$work/steps$i"}
        else
            OMP_NUM_THREADS=$2 start "$1" "$python" "$here/"${3/LOG/"$work/steps$i"}
        fi
        sids+=($!) logs+=("$work/steps$i") i=$((i + 1))
        shift 3
    done
    if [ $i -gt 0 ]; then
        for first in "${logs[@]}"; do await 120 works "$first"; done
        before=$(lines "${logs[@]}")
        sleep 4
        idle=$(awk -v n=$(($(lines "${logs[@]}") - before)) 'BEGIN { print n / 4 }')
        before=$(lines "${logs[@]}") first=$EPOCHREALTIME
    fi
    load "$file" 1 "$gpus,$name,$on" --rate 4 --tokens 32 --seconds $((seconds + 1))
    if [ $i -gt 0 ]; then
        beside=$(awk -v n=$(($(lines "${logs[@]}") - before)) -v from="$first" -v to="$EPOCHREALTIME" 'BEGIN { print n / (to - from) }')
        end "${sids[@]}"
    fi
    sed -i "\$s/\$/,$idle,$beside/" "$out/$file"
    log "$name: the others $idle steps/s beside the idle server, $beside beside the loaded one"
}

beside() {
    local all=0-$((top - 1)) prep='torch_worker.py 300 LOG' loader='loader_worker.py 300 LOG' file=beside.csv cores half
    header $file gpus,neighbours,server_cpus
    sed -i '1s/$/,steps_s_idle,steps_s/' "$out/$file"
    serve 1 --engine thread || return
    neighbours $file alone $all
    neighbours $file 'two default' $all $all 0 "$prep" $all 0 "$prep"
    neighbours $file 'two sized' $all $all $((top / 3)) "$prep" $all $((top / 3)) "$prep"
    for cores in $((top / 3)) 2; do
        half=$(((top - cores) / 2))
        neighbours $file "two partitioned with $half cores each" 0-$((cores - 1)) \
            $cores-$((cores + half - 1)) $half "$prep" $((cores + half))-$((cores + 2 * half - 1)) $half "$prep"
    done
    neighbours $file 'a DataLoader' $all $all 0 "$loader $top"
    neighbours $file "a DataLoader partitioned" 0-1 2-$((top - 1)) 0 "$loader $((top - 2))"
    neighbours $file 'alone again' $all
    end "${servers[@]}"
}

rule() {
    local cores round list
    header rule.csv gpus,engine,round,cores
    list=$(seq -s, 0 $((gpus - 1)))
    VISIBLE=$list serve 1 --engine process --gpu "$list" || return
    for round in 1 2; do
        for cores in $(if [ $round = 1 ]; then echo 1 2 3 4 6 8; else echo 8 6 4 3 2 1; fi); do
            [ "$cores" -le "$top" ] || continue
            move "0-$((cores - 1))" "${servers[0]}"
            load rule.csv 1 "$gpus,process,$round,$cores" --rate $((6 * gpus)) --tokens 16 || break 2
        done
    done
    end "${servers[@]}"
}

# The scenario without its background, one worker, at the rate that one worker alone has on all cores.
model() {
    local cores rate='' common=(bench serve --workers 1 --placement none --rounds 1 --time 4 --no-canary --no-baselines
        --no-plots --force -p load=60 -p arrival=poisson)
    echo 'gpus,cores,metric,stat,median,unit' >"$out/model.csv"
    for cores in $(cores_up_to "$top" | sort -rn); do
        if ! timeout 60 "$contend" "${common[@]}" ${rate:+-p rate="$rate"} --cpus "0-$((cores - 1))" --out "$work/model" >"$work/model.txt" 2>&1; then
            log "FAILED: serve on $cores: $(tail -n 3 "$work/model.txt")"
            continue
        fi
        "$python" - "$work/model/rows.csv" "$gpus,$cores" >>"$out/model.csv" <<'PY'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if row["metric"].startswith("serve_") and row["metric"] != "serve_worst":
        stat = [word[5:] for word in row["params"].split(";") if word.startswith("stat=")]
        print(sys.argv[2], row["metric"], *(stat or [""]), row["median"], row["unit"], sep=",")
PY
        [ -n "$rate" ] || rate=$(awk -F, '$3 == "serve_alone" { print $5; exit }' "$out/model.csv")
        log "serve on $cores cores, load 100 is $rate/s"
    done
}

harness() {
    local name metrics=()
    for name in tpot_p50_ms tpot_p99_ms ttft_p50_ms ttft_p99_ms tokens_s; do metrics+=(--metric "$name=$name ([0-9.]+)"); done
    timeout 200 "$contend" run --workers 2 --placement none,partition --rounds 1 --time 1 --no-canary --no-baselines --no-plots --force \
        --setup-limit 100 --load-cores "$clients" --out "$work/harness" --ready 'http://localhost:{port}/health' \
        --load "$python $here/decoder_client.py http://localhost:{port} --rate 4 --seconds $seconds --seed 1{worker}" \
        "${metrics[@]}" --less-is-better ttft_p50_ms,ttft_p99_ms,tpot_p50_ms,tpot_p99_ms \
        -- "$python" "$here/decoder.py" --port '{port}' >"$out/harness.txt" 2>&1 || log "FAILED: contend run --load"
    cp "$work/harness/rows.csv" "$out/harness.csv"
    log "$(tail -n 25 "$out/harness.txt")"
}

# The server and two preprocessors as unlike jobs, by contend run --job: every division of the cores, and which keeps the server.
jobs_at_once() {
    timeout 500 "$contend" run --rounds "${ROUNDS:-1}" --time 1 --no-canary --no-plots --force --setup-limit 100 --placement none,sized,partition \
        --out "$work/jobs" --protect 'server_tpot_p50 10%' \
        --job "server=--ready http://localhost:{port}/health
            --load '$python $here/decoder_client.py http://localhost:{port} --rate ${RATE:-2} --tokens 32 --seconds $((seconds + 1))'
            --metric 'tpot_p50=tpot_p50_ms ([0-9.]+)' --metric 'tpot_p99=tpot_p99_ms ([0-9.]+)'
            --metric 'ttft_p50=ttft_p50_ms ([0-9.]+)' --metric 'ttft_p99=ttft_p99_ms ([0-9.]+)'
            --less-is-better tpot_p50,tpot_p99,ttft_p50,ttft_p99 -- $python $here/decoder.py --port {port}" \
        --job "prep=-n 2 --steps-by-lines --line ^step -- $python $here/torch_worker.py 400 /dev/stdout" >"$out/jobs.txt" 2>&1 ||
        log "FAILED: contend run --job"
    cp "$work/jobs/rows.csv" "$out/jobs.csv"
    log "$(tail -n 60 "$out/jobs.txt")"
}

# follow_once NAME PORT COMMAND...: starts it and loads the server; a row with the steps a second of what it prints.
follow_once() {
    local name=$1 at=$2 before first sid
    shift 2
    port=$((at - 1))
    : >"$work/followed.txt"
    setsid "$@" > >(cat >"$work/followed.txt") 2>&1 & # a pipe, as it is opened anew
    sid=$!
    disown
    started+=("$sid") servers=("$sid")
    await 200 is_up "$at" || return
    [ "$name" = alone ] || await 120 works "$work/followed.txt"
    before=$(lines "$work/followed.txt") first=$EPOCHREALTIME
    load follow.csv 1 "$gpus,$name" --rate "${RATE:-2}" --tokens 32 --seconds $((seconds + 1))
    sed -i "\$s/\$/,$(awk -v n=$(($(lines "$work/followed.txt") - before)) -v from="$first" -v to="$EPOCHREALTIME" \
        'BEGIN { print n / (to - from) }')/" "$out/follow.csv"
    kill -TERM "$sid"
    await 20 is_gone "$sid" || end "$sid"
}

follow() {
    local line round ports
    line=$(sed -n 's/^to apply it: //p' "$out/jobs.txt" | head -n 1)
    [ -n "$line" ] || { log "FAILED: no recommendation in jobs.txt" && return; }
    header follow.csv gpus,arm
    sed -i '1s/$/,steps_s/' "$out/follow.csv"
    for round in $(seq "${ROUNDS:-2}"); do
        bash -c "$line" >"$work/apply.sh" 2>>"$out/log.txt" || { log "FAILED: $line" && return; }
        ports=$(sed -n 's/.*--port \([0-9]*\).*/\1/p' "$work/apply.sh" | head -n 1)
        follow_once alone $((port + 50 + round)) taskset -c "0-$((top - 1))" "$python" "$here/decoder.py" --port $((port + 50 + round))
        follow_once followed "$ports" sh "$work/apply.sh"
    done
}

log "$cpus CPUs, $gpus GPUs, clients on $client_cpus; studies: ${studies[*]}"
for study in "${studies[@]}"; do
    log "== $study"
    "$study" || log "FAILED: $study"
done
log "all done"
