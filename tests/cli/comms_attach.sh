#!/usr/bin/env bash
# contend comms --attach and --all, of a job that a stand-in of NCCL's RAS service tells of.
. tests/lib/cli.sh
command -v jq >/dev/null && command -v python3 >/dev/null || exit 77
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$scratch"' EXIT

# serve MODE [ANSWER...]: sets NCCL_RAS_ADDR to it.
serve() {
    [ -z "$server" ] || kill "$server"
    rm -f "$scratch/port"
    python3 tests/lib/ras_server.py "$scratch/port" "$@" &
    server=$!
    wait_for 20 test -s "$scratch/port" || fail "no server"
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
    "$CONTEND_BINARY" comms --seconds 0.1 "$@"
}
found() { # found ARG...: ids
    attach --json "$@" | jq -c '[.findings[].id]'
}
is() {
    [ "$2" = "$3" ] || fail "$1: $2, expected $3"
}

job 7 6 >"$scratch/a"
job 17 16 >"$scratch/b"
job 7 7 >"$scratch/even"
job 7 7 '[{"rank":2,"host":"far","pid":13,"status":{"unresponsive":true,"considered_dead":true}}]' >"$scratch/lost"
serve json "$scratch/a"
is stuck "$(found --attach 12)" '["ras_stuck"]'
attach --all >"$scratch/out"
is "exit code" $? 1
tr -s '\n ' ' ' <"$scratch/out" | grep -q 'number 7 waits for ranks .*: 1 (process 12 on node)' || fail "$(cat "$scratch/out")"
! grep -q $'\033' "$scratch/out" || fail "a host's escapes came through"
is other "$(found --attach 99)" '["ras_stuck","ras_other_job"]'
serve json "$scratch/a" "$scratch/b"
is moves "$(found --all)" '["ras_behind"]'
serve json "$scratch/even"
is even "$(found --all)" '["ras_silent"]'
serve json "$scratch/lost"
is lost "$(found --all)" '["ras_missing","ras_silent"]'

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
grep -q 'is not understood' "$scratch/out" || fail "$(cat "$scratch/out")"
! grep -q $'\033' "$scratch/out" || fail "escapes came through"

# What is not as it should be is refused, and holds up nothing.
refused() { # refused PATTERN
    expect 3 "$1" "$CONTEND_BINARY" comms --all --seconds 0.1
}
serve cut "$scratch/even"
refused 'is not understood'
serve stranger
refused "not NCCL's RAS service"
serve endless
refused 'more than 64 MiB'
printf '[1,2' >"$scratch/odd"
serve json "$scratch/odd"
refused 'is not understood'
printf '{"communicators":[{"ranks":7}]}' >"$scratch/odd"
serve json "$scratch/odd"
refused 'a communicator without ranks'
printf 'Warnings\n\033[2J#0-0 MISMATCH\n' >"$scratch/text"
serve text "$scratch/text"
expect 0 'MISMATCH' "$CONTEND_BINARY" comms --all
serve mute
refused 'no answer .* in time'
kill "$server"
wait "$server" 2>/dev/null
server=
refused 'nobody answers at'
expect 2 'is no process' "$CONTEND_BINARY" comms --attach -3
expect 2 'of a job that runs' "$CONTEND_BINARY" comms --all -- true
finish
