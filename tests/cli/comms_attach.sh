#!/usr/bin/env bash
# contend comms --attach and --all, of a job that a stand-in of NCCL's RAS service tells of.
. tests/lib/cli.sh
needs jq python3
export CONTEND_LIBNVML=/nowhere # also where there is a GPU
server='' servers=()
one=''
trap 'for one in $server "${servers[@]}"; do kill "$one"; done; rm -rf "$scratch"' EXIT

# serve MODE [ANSWER...]: sets NCCL_RAS_ADDR to it.
serve() {
    [ -z "$server" ] || kill "$server"
    rm -f "$scratch/port"
    python3 tests/lib/ras_server.py "$scratch/port" "$@" &
    server=$!
    wait_for 60 test -s "$scratch/port" || fail "no server"
    NCCL_RAS_ADDR=127.0.0.1:$(cat "$scratch/port")
    export NCCL_RAS_ADDR
}

# job COUNT0 COUNT1 [MISSING]: two ranks that have launched so many all-reduces.
job() {
    local status='{"init_state":0,"async_error":0,"finalize_called":false,"destroy_flag":false,"abort_flag":false}'
    jq -n --argjson s "$status" --argjson a "$1" --argjson b "$2" --argjson missing "${3:-[]}" \
        '{nccl_version:"2.28.9", communicators:[{hash:"0xabc", secondary_hash:"0x1:0x2", size:2, ranks:[
          {rank:0, host:"node\u001b[31m", pid:11, nvml_dev:0, status:$s, collective_counts:{AllReduce:$a}},
          {rank:1, host:"node", pid:12, nvml_dev:1, status:$s, collective_counts:{AllReduce:$b}}],
          missing_ranks:$missing}], ras:{timeouts_count:0}}'
}
attach() {
    "$CONTEND_BINARY" comms --time 0.1 "$@"
}
found() { # found ARG...: ids
    attach --json "$@" | jq -c '[.findings[].id]'
}
job 7 6 >"$scratch/a"
job 1007 1006 >"$scratch/b"
job 7 7 >"$scratch/even"
job 7 7 '[{"rank":2,"host":"far","pid":13,"status":{"unresponsive":true,"considered_dead":true}}]' >"$scratch/lost"

# What NVLink's counters moved meanwhile, of a stand-in of NVML with three GPUs: 4 MiB out of each and 2 MiB
# into it between two readings, but of the third 1 MiB; links of 18 x 25 GB/s.
fake=$scratch/nvml.so
cc -shared -fPIC -DFULL -o "$fake" tests/lib/fake_gpu_driver.c 2>/dev/null || fake=
nvlink="nvlink_sent=7 nvlink_received=9 nvlink_sent_more=4096 nvlink_received_more=2048 nvlink_sent_more2=1024 nvlink_received_more2=1024"
# beside FAKE_GPU ARG...: in $out and $err; its exit code.
out=$scratch/out err=$scratch/err
beside() {
    local state=$1
    shift
    rm -f "$out.readings"
    FAKE_GPU=$state FAKE_GPU_READINGS=$out.readings "$CONTEND_BINARY" comms --time 0.1 "$@" >"$out" 2>"$err" </dev/null
}
none() { # none PATTERN FAKE_GPU
    beside "$2" --all || fail "exit $?: $(cat "$out")"
    tr -s '\n ' ' ' <"$out" | grep -q "NVLink's counters of .*: unknown, $1" || fail "$(cat "$out")"
}

# A service and a driver that do not answer are waited for beside the rest, each by itself.
hangs() {
    local out=$scratch/hangs.out err=$scratch/hangs.err
    none 'the NVIDIA driver did not answer within 10 s' "hang=1"
}
mute() {
    local out=$scratch/mute.out err=$scratch/mute.err
    beside "$nvlink" --all
    is "a service that does not answer" "$? $(grep -c '^NCCL reports nothing of the job' "$out") $(grep -c 'did not answer in time' "$err")" '3 1 1'
}
if [ -n "$fake" ]; then
    CONTEND_LIBNVML=$fake
    sed 's/"node"/"127.0.0.1"/' "$scratch/even" >"$scratch/here"
    serve json "$scratch/here"
    servers+=("$server") server=''
    meanwhile hangs
    serve mute
    servers+=("$server") server=''
    meanwhile mute
    CONTEND_LIBNVML=/nowhere
fi

serve json "$scratch/a"
is stuck "$(found --attach 12)" '["ras_stuck"]'
attach --all >"$scratch/out"
is "exit code" $? 1
tr -s '\n ' ' ' <"$scratch/out" | grep -q 'number 7 waits since .* for ranks .*: 1 (process 12 on node)' || fail "$(cat "$scratch/out")"
! grep -q $'\033' "$scratch/out" || fail "a host's escapes came through"
is other "$(found --attach 99)" '["ras_stuck","ras_other_job"]'
# Ranks of a job that moves are asked one after the other: as far as that explains, none is behind.
serve json "$scratch/a" "$scratch/b"
is moves "$(found --all)" '[]'
job 107 6 >"$scratch/halts"
serve json "$scratch/a" "$scratch/halts"
is halts "$(found --all)" '["ras_behind"]'
jq '.communicators[0].ranks[].collective_counts |= {Broadcast: 1, AllReduce: .AllReduce}' "$scratch/b" >"$scratch/first"
serve json "$scratch/a" "$scratch/first"
is "another first" "$(found --all)" '[]'
serve json "$scratch/even"
is even "$(found --all)" '["ras_silent"]'
expect 0 "^NVLink's counters of .*: unknown, .*/nowhere" "$CONTEND_BINARY" comms --all --time 0.1
is "without counters" "$(attach --all --json | jq -c '[.nccl, .not_told, .nvlink.gpus, .nvlink.by, (.nvlink.not_counted | length)]')" \
    '["2.28.9",null,[],null,1]'
serve json "$scratch/lost"
is lost "$(found --all)" '["ras_missing","ras_silent"]'

# A rate is over the time that was between the answers.
job 100 100 >"$scratch/later"
serve late "$scratch/even" "$scratch/later"
attach --all >"$scratch/out"
grep -q 'AllReduce *100 *100 ' "$scratch/out" &&
    awk '/AllReduce/ {exit !($4 > 0 && $4 < 93 / 0.5)}' "$scratch/out" || fail "rate: $(cat "$scratch/out")"

# An error of a rank, but not that it is at work; and processes that did not answer each other.
jq '.communicators[0].ranks[1].status.async_error = 3' "$scratch/even" >"$scratch/failed"
serve json "$scratch/failed"
is error "$(found --all)" '["ras_error","ras_silent"]'
jq '.communicators[0].ranks[1].status.async_error = 7' "$scratch/even" >"$scratch/at-work"
serve json "$scratch/at-work"
is "at work" "$(found --all)" '["ras_silent"]'
jq '.ras.timeouts_count = 2' "$scratch/even" >"$scratch/late"
serve json "$scratch/late"
is timeouts "$(found --all)" '["ras_timeouts","ras_silent"]'

# Nothing that the service says reaches a terminal but as text.
sed 's/AllReduce/All\\u001b[2JReduce/' "$scratch/a" >"$scratch/odd"
serve json "$scratch/odd"
attach --all >"$scratch/out" 2>&1
grep -q 'All \[2JReduce number 7 waits' <(tr -s '\n ' ' ' <"$scratch/out") || fail "$(cat "$scratch/out")"
printf '{"communicators": \033[2J' >"$scratch/odd"
serve json "$scratch/odd"
attach --all >>"$scratch/out" 2>&1
grep -q 'cannot read the answer' "$scratch/out" || fail "$(cat "$scratch/out")"
! grep -q $'\033' "$scratch/out" || fail "escapes came through"

# What is not as it should be is refused, and holds up nothing.
refused() { # refused PATTERN
    expect 3 "$1" "$CONTEND_BINARY" comms --all --time 0.1
}
serve cut "$scratch/even"
refused 'cannot read the answer'
serve stranger
refused "not NCCL's RAS service"
serve endless
refused 'more than 64 MiB'
printf '[1,2' >"$scratch/odd"
serve json "$scratch/odd"
refused 'cannot read the answer'
printf '{"communicators":[{"ranks":7}]}' >"$scratch/odd"
serve json "$scratch/odd"
refused 'a communicator without ranks'
printf 'Warnings\n\033[2J#0-0 MISMATCH\n' >"$scratch/text"
serve text "$scratch/text"
expect 0 'MISMATCH' "$CONTEND_BINARY" comms --all
kill "$server"
wait "$server" 2>/dev/null
server=
refused 'no answer at'
expect 3 "NVLink's counters: unknown, .*/nowhere" "$CONTEND_BINARY" comms --all --time 0.1
expect 2 'is no process' "$CONTEND_BINARY" comms --attach -3
expect 2 'look at a running job' "$CONTEND_BINARY" comms --all -- true

[ -n "$fake" ] || finish
export CONTEND_LIBNVML=$fake

told() { # told FILTER: of that
    jq -c "$1" "$scratch/out"
}
gpus='[.nvlink.by, (.nvlink.gpus[] | [.pci_bdf, .of_job, .rank, .process, .sent.counted_bytes, .received.counted_bytes])]'

serve json "$scratch/here"
beside "$nvlink fabric=3" --all --json || fail "counters: $(cat "$scratch/out" "$scratch/err")"
is "by rank" "$(told "$gpus")" \
    '["ranks",["beef:07:00.0",false,null,null,4194304,2097152],["beef:08:00.0",true,1,12,4194304,2097152],["beef:09:00.0",false,null,null,1048576,1048576]]'
is "sums" "$(told '.nvlink | [(.job, .all) | .sent.counted_bytes, .received.counted_bytes]')" '[4194304,2097152,9437184,5242880]'
is "rates" "$(told '.nvlink as $n | [$n.seconds >= 0.1, ($n.gpus[] | .gbps, (.sent | .bytes_per_s * $n.seconds - .counted_bytes | fabs < 1),
    (.sent | .share * 450e9 * $n.seconds - .counted_bytes | fabs < 1)), ($n.all.sent | .share * 1350e9 * $n.seconds - .counted_bytes | fabs < 1)]')" \
    '[true,450,true,true,450,true,true,450,true,true,true]'
# The first rank, on a host of a name that is not ours, is nowhere here; nothing is known of those that have died.
jq '.communicators[0].ranks[0].host = "127.0.0.1" | .communicators[0].ranks[0].nvml_dev = 2 | .communicators[0].missing_ranks = [
    {"rank":2,"host":"127.0.0.1","pid":13,"nvml_dev":0,"status":{"unresponsive":true,"considered_dead":true}}]' "$scratch/here" >"$scratch/both"
serve json "$scratch/both"
beside "$nvlink" --all
is "of a job that has lost a rank" $? 1
grep -Eq "^beef:08:00.0 +1 +4.19 M .* - +2.10 M .* -$" "$scratch/out" || fail "$(cat "$scratch/out")"
grep -Eq "^the job's +- +5.24 M" "$scratch/out" || fail "$(cat "$scratch/out")"
sed -n '/used by no rank of the job:/{n;p}' "$scratch/out" | grep -q '^beef:07:00.0 *- ' || fail "$(cat "$scratch/out")"
! grep -Eq '.{80}' "$scratch/out" || fail "more than 79 columns: $(cat "$scratch/out")"
is "counters change no finding" "$(beside "$nvlink" --all --json; told '[.findings[].id]')" '["ras_missing","ras_silent"]'
# Of ranks on other machines, and of texts, nobody tells which GPUs they use.
serve json "$scratch/even"
beside "$nvlink" --all || fail "$(cat "$scratch/out")"
grep -q "The job's GPUs are not known: NCCL names no rank on this" "$scratch/out" || fail "$(cat "$scratch/out")"
serve text "$scratch/text"
beside "$nvlink" --all || fail "$(cat "$scratch/out")"
grep -q MISMATCH "$scratch/out" && grep -q '^all  .* 9.44 M' "$scratch/out" || fail "$(cat "$scratch/out")"
beside "$nvlink" --all --json || fail "$(cat "$scratch/out")"
is "of text" "$(told '[.communicators, .not_told, .nvlink.by, .nvlink.all.sent.counted_bytes]')" \
    '[null,"NCCL before 2.28.7 reports its state only as text",null,9437184]'
CONTEND_LIBNVML=/nowhere expect 3 'leave --json out' "$CONTEND_BINARY" comms --all --json

# GPUs that count nothing are never zeros, and what is wrong with counters changes no exit code.
serve json "$scratch/here"
beside "${nvlink/more2=1024/more2=-3} nvlink_received2=fails" --all --json || fail "$(cat "$scratch/out")"
is "set back" "$(told '[.nvlink.gpus[2] | .sent, .received | .counted_bytes], .nvlink.all.sent.counted_bytes' | tr '\n' ' ')" '[null,null] 8388608 '
none 'its GPUs have no NVLink, or count nothing there' ""

# Without the service counters are all there is: of the GPUs that the process has open, or one below it, else of all.
kill "$server"
wait "$server" 2>/dev/null
server=
sleep 300 &
sleeper=$!
beside "$nvlink pid1=$sleeper" --attach $sleeper || fail "$(cat "$scratch/out" "$scratch/err")"
grep -q "^NCCL reports nothing of the job, so only NVLink's counters follow: no answer" "$scratch/out" || fail "$(cat "$scratch/out")"
grep -Eq "^the job's +- +4.19 M" "$scratch/out" || fail "$(cat "$scratch/out")"
sed -n '/not open there:/{n;p}' "$scratch/out" | grep -q '^beef:07:00.0 ' || fail "$(cat "$scratch/out")"
grep -q 'NCCL 2.24 and later has it' "$scratch/err" || fail "$(cat "$scratch/err")"
beside "$nvlink pid2=$sleeper" --attach $$ --json || fail "$(cat "$scratch/out" "$scratch/err")"
is "by process" "$(told '[.nccl, .communicators, (.not_told | .[0:10]), .nvlink.by, [.nvlink.gpus[].of_job], .nvlink.job.sent.counted_bytes]')" \
    '[null,null,"no answer ","process",[false,false,true],1048576]'
beside "$nvlink" --attach $sleeper --json || fail "$(cat "$scratch/out" "$scratch/err")"
is "of nobody" "$(told '[.nvlink.by, .nvlink.job, [.nvlink.gpus[].of_job], .nvlink.all.sent.counted_bytes]')" '[null,null,[null,null,null],9437184]'
beside "" --all
is "neither the service nor NVLink" $? 3
kill $sleeper
wait $sleeper 2>/dev/null
beside "$nvlink" --attach $sleeper
is "a process that is gone" "$? $(grep -c "there is no process $sleeper" "$scratch/err")" '3 1'
finish
