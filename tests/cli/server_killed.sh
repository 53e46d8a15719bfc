#!/usr/bin/env bash
# Whatever of contend, the server and the client is killed, and whenever: no process is left, and no port in use. Runs in
# a PID namespace of its own, because it kills processes.
. tests/lib/pid_namespace.sh || exit
. tests/lib/cli.sh
needs python3
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere

begin() { # begin [OPTION...]
    "$CONTEND_BINARY" run "$@" --workers 2 --placement none --rounds 1 --time 30 --no-baselines --no-canary --no-plots --host h \
        --force --out "$scratch/out" --ready 'tcp:{port}' --load 'python3 tests/lib/server.py client {port}' -- \
        python3 tests/lib/server.py '{port}' child=7545 > "$scratch/said" 2>&1 < /dev/null &
    pid=$!
}
one_of() { # one_of WHAT: a process of this kind, which itself is neither contend nor a worker of it
    pgrep -f "^[^ ]*python3? tests/lib/server.py $1" | head -1
}
under_load() {
    [ -n "$(one_of client)" ] && [ "$(pgrep -xc sleep)" = 2 ]
}
nobody() {
    ! pgrep -f 'server.py|sleep 754| __worker ' > /dev/null
}
ports_free() { # of the servers that ran: nothing listens
    ! grep -qE '^ *[0-9]+: [0-9A-F:]+ [0-9A-F:]+ 0A ' /proc/net/tcp ||
        ! python3 -c '
import re, socket, sys
for port in set(re.findall(r"starts at (\d+)", sys.stdin.read())):
    if not socket.socket().connect_ex(("127.0.0.1", int(port))):
        sys.exit(0)
sys.exit(1)' < <(cat "$scratch"/out/command-output/*-2-worker?.txt)
}
check() { # check WHAT CODE
    wait "$pid" 2> /dev/null
    local got=$?
    [ "$got" = "$2" ] || fail "$1: exit $got, not $2: $(cat "$scratch/said")"
    wait_for 60 nobody || fail "$1: left running: $(pgrep -af 'server.py|sleep 754|__worker')"
    ports_free || fail "$1: a port is in use"
    pkill -KILL -f 'server.py|sleep 754| __worker '
}

begin
wait_for 60 under_load || fail "no load: $(cat "$scratch/said")"
kill -KILL "$(one_of '[0-9]+ child')"
check server 3
grep -q 'the server was killed by signal 9 .* under load' "$scratch/said" || fail "server: $(cat "$scratch/said")"

begin
wait_for 60 under_load || fail "no load: $(cat "$scratch/said")"
kill -KILL "$(one_of client)"
check client 3
grep -q 'the client was killed by signal 9' "$scratch/said" || fail "client: $(cat "$scratch/said")"

begin
wait_for 60 under_load || fail "no load: $(cat "$scratch/said")"
kill -INT "$pid"
check SIGINT 130

begin
wait_for 60 under_load || fail "no load: $(cat "$scratch/said")"
kill -KILL "$pid"
check contend 137

# At any moment, also while servers start.
for turn in 1 2 3 4; do
    begin
    sleep "0.$((RANDOM % 8 + 1))"
    kill -KILL "$pid"
    check "contend, turn $turn" 137
done

# Servers that are kept.
for what in server client worker contend SIGINT; do
    begin --keep
    wait_for 60 under_load || fail "no load: $(cat "$scratch/said")"
    case $what in
    server) kill -KILL "$(one_of '[0-9]+ child')" && check "kept, $what" 3 ;;
    client) kill -KILL "$(one_of client)" && check "kept, $what" 3 ;;
    worker) kill -KILL "$(pgrep -f ' __worker ' | head -1)" && check "kept, $what" 3 ;;
    contend) kill -KILL "$pid" && check "kept, $what" 137 ;;
    SIGINT) kill -INT "$pid" && check "kept, $what" 130 ;;
    esac
done
finish
