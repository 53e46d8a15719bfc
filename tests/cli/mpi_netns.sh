#!/usr/bin/env bash
# Two hosts on one machine, with separate networks and host names, joined by a veth pair. mpirun reaches the second host
# through a launch agent that enters its namespaces, and MPI uses TCP.
. tests/lib/cli.sh
. tests/lib/mpi.sh
needs_mpi
needs root ip nsenter unshare jq

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

# A lost rank ends the run, and finished rounds are on disk. A killed one is named by mpirun and by MPI, which may end
# rank 0 at once; one that hangs by rank 0, or by the others if it is rank 0.
lose_rank() { # lose_rank RANK SIGNAL PATTERN STATUS
    start "$scratch/lost" "$CONTEND_BINARY" bench collective -p end=4K --rounds 20 --time 1 --limit 300 --setup-limit 4
    wait_for 60 first_round "$out.log" || fail "no round: $(cat "$out.log")"
    running "^$CONTEND_BINARY bench" "$1" && kill "-$2" "$victim" || fail "no rank $1"
    finish_within 120
    [ "$code" != 0 ] || fail "$1 $2: exit 0"
    grep -q "$3" "$out.log" || fail "$1 $2: no '$3': $(cat "$out.log")"
    [ "$(jq -r .status "$out/run.json")" = "$4" ] || fail "$1 $2: status $(jq .status "$out/run.json")"
    [ "$(grep -c collective_busbw "$out/rounds.csv")" -gt 1 ] || fail "$1 $2: the finished rounds are gone"
    rm -rf "$out" "$out.log"
}
lose_rank 1 KILL 'process rank 1 \|error: rank 1 (host' interrupted
lose_rank 1 STOP "error: rank 1 (host $b) does not answer" failed
lose_rank 0 STOP "error: rank 0 (host $a) does not answer" interrupted
finish
