#!/usr/bin/env bash
# Two hosts on one machine, with separate networks and host names, joined by a veth pair. mpirun reaches the second host
# through a launch agent that enters its namespaces, and MPI uses TCP.
. tests/lib/cli.sh
. tests/lib/mpi.sh
needs_mpi
needs root ip nsenter unshare

a=contend-a-$$ b=contend-b-$$
remove_hosts() {
    ip netns del "$a"
    ip netns del "$b"
} 2>/dev/null
trap 'remove_hosts; rm -rf "$scratch"' EXIT
if ! { ip netns add "$a" && ip netns add "$b"; } 2>"$scratch/refused"; then
    skip "no network namespaces here: $(cat "$scratch/refused")"
fi
ip link add cable netns "$a" type veth peer name cable netns "$b" 2>"$scratch/refused" ||
    skip "no virtual cable here: $(cat "$scratch/refused")"
number=1
for host in "$a" "$b"; do
    # Not `ip -n`: that remounts /, which is not a mount point in a chroot.
    inside=(nsenter "--net=/run/netns/$host" ip)
    if ! { "${inside[@]}" link set lo up && "${inside[@]}" link set cable up &&
        "${inside[@]}" addr add "10.213.7.$((number++))/24" dev cable; } 2>"$scratch/refused"; then
        skip "a virtual cable cannot be used here: $(cat "$scratch/refused")"
    fi
done

# enter HOST COMMAND...: runs it in that host's namespaces, under its name.
cat >"$scratch/enter" <<'ENTER'
#!/bin/sh
host=$1
shift
exec nsenter "--net=/run/netns/$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
ENTER
# mpirun's substitute for ssh: agent ADDRESS WORD...
cat >"$scratch/agent" <<AGENT
#!/bin/sh
shift
exec "$scratch/enter" "$b" sh -c "\$*"
AGENT
# COMMAND...: runs one rank on each host.
cat >"$scratch/both" <<BOTH
#!/bin/sh
exec "$scratch/enter" "$a" mpirun --host 10.213.7.1:1,10.213.7.2:1 --bind-to none \\
    --mca odls_base_sigkill_timeout 3 --mca plm_rsh_agent "$scratch/agent" --mca btl tcp,self \\
    --mca btl_tcp_if_include 10.213.7.0/24 --mca oob_tcp_if_include 10.213.7.0/24 "\$@"
BOTH
chmod +x "$scratch/enter" "$scratch/agent" "$scratch/both"

out=$scratch/good
expect 0 "Results: $out" "$scratch/both" "$CONTEND_BINARY" bench collective -p op=allreduce -p end=64K \
    -p factor=16 --rounds 1 --time 1 --limit 300 --no-plots --out "$out"
check_collective "$out" 2
for host in "$a" "$b"; do
    grep -q "\"host\": \"$host\"" "$out/run.json" || fail "host $host is not in run.json"
done

# If a worker process dies, the observation fails and names it. The run continues, and ends with 3.
start() { # start OUT COMMAND...: in the background
    out=$1
    shift
    "$scratch/both" "$@" --no-plots --out "$out" >"$out.log" 2>&1 </dev/null &
    run=$!
}
finish_within() { # finish_within SECONDS: sets code
    if ! wait_for "$1" ended "$run"; then
        fail "still running $1 s later: $(cat "$out.log")"
        kill "$run"
    fi
    wait "$run"
    code=$?
}
running() { # running PATTERN RANK: sets victim
    victim=$(pids "$1" "$2" | head -n 1)
    [ -n "$victim" ]
}

out=$scratch/team
expect 0 "Results: $out" "$scratch/both" "$CONTEND_FAKE" bench faketeam --limit 100 --rounds 1 --time 0.1 \
    --no-plots --out "$out"
[ "$(cell "$out/rows.csv" none 2 rank_sum median)" = 2 ] || fail "ranks 0 and 1 do not add up to 1"
out=$scratch/worker
expect 3 "rank 1 \(host $b\): killed by signal 9" "$scratch/both" "$CONTEND_FAKE" bench faketeam --limit 100 \
    -p mode=crash -p bad_worker=1 --rounds 2 --time 0.1 --no-plots --out "$out"
grep -q "rank 1 (host $b): killed by signal 9 (Killed) while running" "$out/rows.csv" ||
    fail "a lost worker is not named: $(cat "$out/rows.csv")"
grep -q '"rounds_done": 2' "$out/run.json" || fail "the run did not go on after a lost worker"

# If a rank itself dies, mpirun ends the others. Finished rounds are on disk, and the message names the lost rank.
# lose_rank REASON RANK PATTERN [PATTERN OF RANK 0]: kills that rank's process with a matching command line; then, as
# MPI may, a process of rank 0.
lose_rank() {
    local first harness
    start "$scratch/lost" "$CONTEND_BINARY" bench collective -p end=4K --rounds 20 --time 1 --limit 300
    wait_for 60 first_round "$out.log" || fail "no round: $(cat "$out.log")"
    # Rank 0 sleeps meanwhile. It then finds both losses, and has to name the first one.
    if [ -n "${4-}" ]; then
        running "$4" 0 && first=$victim || fail "no '$4'"
        running "^$CONTEND_BINARY bench" 0 && harness=$victim && kill -STOP "$harness" || fail "no rank 0"
    fi
    running "$3" "$2" && kill -KILL "$victim" || fail "no '$3'"
    if [ -n "${4-}" ]; then
        kill -ABRT "$first" 2>/dev/null # it may have ended by itself already
        sleep 0.2
        kill -CONT "$harness"
    fi
    finish_within 40
    [ "$code" != 0 ] || fail "$1: exit 0"
    grep -q "error: rank $2 (host .*)$1" "$out.log" || fail "no '$1': $(cat "$out.log")"
    grep -q "rank $2 (host .*)$1" "$out/rows.csv" || fail "no '$1' in rows.csv"
    grep -q '"status": "failed"' "$out/run.json" || fail "$1: run.json does not say failed"
    [ "$(grep -c collective_busbw "$out/rows.csv")" -gt 1 ] || fail "$1: the finished rounds are gone"
    rm -rf "$out" "$out.log"
}
lose_rank ' is gone' 1 "^$CONTEND_BINARY bench"
lose_rank ' is gone' 1 "^$CONTEND_BINARY bench" "^$CONTEND_BINARY __mpi"
lose_rank ': the MPI process was killed by signal 9' 1 "^$CONTEND_BINARY __mpi"
lose_rank ': the MPI process was killed by signal 9' 0 "^$CONTEND_BINARY __mpi"
finish
