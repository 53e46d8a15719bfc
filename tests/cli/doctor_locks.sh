#!/usr/bin/env bash
# contend doctor, threads that wait for ever: each kind of deadlock is found, with the threads that are in
# it, and those that only wait as threads do are left in peace.
. tests/lib/cli.sh
: "${CONTEND_BUSY:?}" "${CONTEND_STUCK:?}"
needs python3
case $(uname -m) in
x86_64 | aarch64) ;;
*) skip "no locks are read here" ;;
esac
grep -q . "/proc/self/syscall" 2>/dev/null || skip "this kernel does not tell what a thread waits in"
started=()
end_all() {
    local pid
    for pid in "${started[@]}"; do
        pkill -9 -P "$pid" 2>/dev/null
        kill -9 "$pid" 2>/dev/null
    done
    wait 2>/dev/null
    started=()
}
trap 'end_all; rm -rf "$scratch"' EXIT

# start KIND [BEFORE...]: threads of that kind, in $pid; who they are in $scratch/threads.
start() {
    local kind=$1
    shift
    rm -f "$scratch/threads" # of the last one, which may not have written all, or whose word it would be
    "$@" "$CONTEND_STUCK" "$kind" >"$scratch/threads" 2>"$scratch/errors" &
    pid=$!
    started+=("$pid")
    wait_for 60 grep -sqx ready "$scratch/threads" || fail "$kind does not start: $(cat "$scratch/errors")"
}
tid_of() { awk -v name="$1" '$1 == name { print $2 }' "$scratch/threads"; }

# look OPTIONS...: what doctor says, in $scratch/seen.
look() {
    "$CONTEND_BINARY" doctor --json --watch 0.5 "$@" >"$scratch/seen" 2>"$scratch/errors"
    case $? in
    0 | 1) ;;
    *)
        fail "doctor failed: $(cat "$scratch/errors")"
        echo '{"findings": [], "unread": null}' >"$scratch/seen"
        ;;
    esac
}

# told ID PID: their sentences and evidence, a line each.
told() {
    python3 - "$scratch/seen" "$1" "$2" <<'END'
import json, sys
for finding in json.load(open(sys.argv[1]))["findings"]:
    if finding["id"] == sys.argv[2] and finding["pids"] == [int(sys.argv[3])]:
        print(finding["sentence"], "|", finding["evidence"], "|", finding["command"])
END
}

# sees ID PID OPTIONS...: within a few looks: on a busy machine they may not have come so far at once.
sees() {
    local id=$1 of=$2
    shift 2
    for _ in 1 2 3 4 5 6; do
        look "$@"
        [ -z "$(told "$id" "$of")" ] || return 0
    done
    return 1
}

# says ID WORDS...: in one of the findings.
says() {
    local id=$1 word
    shift
    for word in "$@"; do
        told "$id" "$pid" | grep -qF -- "$word" || fail "no '$word' in: $(cat "$scratch/seen")"
    done
}

calm() { # calm PID: nothing of the kind is told of it
    [ -z "$(told deadlock "$1")$(told lost_lock "$1")" ] || fail "a false alarm ($2): $(cat "$scratch/seen")"
}

for kind in abba recursive adaptive robust; do
    start "$kind"
    sees deadlock "$pid" --pid "$pid" || fail "$kind is not seen: $(cat "$scratch/seen")"
    first=$(tid_of first) second=$(tid_of second)
    says deadlock '2 threads wait for each other' "first ($first) waits for the lock at 0x" \
        "of second ($second)" "second ($second) waits for the lock at 0x" "of first ($first)" \
        "gdb -p $pid -batch -ex 'thread apply all bt'"
    told deadlock "$pid" | grep -Eq "none ran for [0-9.]+ s; $first -> 0x[0-9a-f]+ -> $second -> 0x[0-9a-f]+ -> $first" ||
        fail "$kind: $(told deadlock "$pid")"
    [ -z "$(told lost_lock "$pid")" ] || fail "$kind is lost, too"
    end_all
done

start abc
sees deadlock "$pid" --pid "$pid" || fail "three are not seen: $(cat "$scratch/seen")"
says deadlock '3 threads wait for each other' "first ($(tid_of first)) waits" \
    "of second ($(tid_of second)); second" "of third ($(tid_of third)); third" "of first ($(tid_of first))."
end_all

start behind
sees deadlock "$pid" --pid "$pid" || fail "two and a third are not seen: $(cat "$scratch/seen")"
for _ in 1 2 3 4 5 6; do
    told deadlock "$pid" | grep -qF '1 more thread waits behind.' && break
    look --pid "$pid"
done
says deadlock '2 threads wait for each other' '1 more thread waits behind.'
end_all

start self
sees deadlock "$pid" --pid "$pid" || fail "one that waits for itself is not seen: $(cat "$scratch/seen")"
says deadlock 'a thread waits for itself' "only ($(tid_of only)) waits for the lock at 0x" 'which it holds'
end_all

start join
sees deadlock "$pid" --pid "$pid" || fail "pthread_join is not seen: $(cat "$scratch/seen")"
says deadlock "worker ($(tid_of worker)) waits for the lock at 0x" \
    "parent ($(tid_of parent)) waits for the end of worker ($(tid_of worker))"
end_all

start two
for _ in 1 2 3 4 5 6; do
    look --pid "$pid"
    [ "$(told deadlock "$pid" | wc -l)" != 2 ] || break
done
[ "$(told deadlock "$pid" | wc -l)" = 2 ] || fail "not two of them: $(cat "$scratch/seen")"
says deadlock "of b ($(tid_of b)); b" "of d ($(tid_of d)); d"
end_all

# The kernel refuses the lock that would close the circle; the C library does not say so.
for kind in inherit inherit3; do
    start "$kind"
    if sees deadlock "$pid" --pid "$pid"; then
        says deadlock 'threads wait for each other' 'sleeps for ever, as the kernel refused it a lock'
        for name in first second; do says deadlock "$name ($(tid_of "$name"))"; done
    elif ldd --version 2>/dev/null | grep -q 'GLIBC 2\.3[6-9]\|GLIBC 2\.4'; then
        fail "$kind is not seen: $(cat "$scratch/seen")"
    else
        echo "left out: $kind, with another C library"
    fi
    end_all
done

# Holders that are gone: one that ended, and one that stayed behind in a fork.
start ended
sees lost_lock "$pid" --pid "$pid" || fail "a holder that ended is not seen: $(cat "$scratch/seen")"
says lost_lock "left ($(tid_of left)) waits for the lock at 0x" "thread $(tid_of ended), is not in this process" \
    "gdb -p $pid"
[ -z "$(told deadlock "$pid")" ] || fail "that is no deadlock: $(cat "$scratch/seen")"
end_all

start forked
wait_for 60 grep -q '^child' "$scratch/threads"
parent=$pid pid=$(tid_of child)
sees lost_lock "$pid" --pid "$parent" || fail "a fork is not seen: $(cat "$scratch/seen")"
says lost_lock "child ($pid)" "thread $(tid_of holder), is not in this process"
calm "$parent" "the parent of a fork"
end_all

# Who stands still is not busy, and is found all the same; also where the first thread has ended.
start lead
sees deadlock "$pid" || fail "one that is not busy is not seen: $(cat "$scratch/seen")"
end_all
start abba
other=$pid
start condition
look --pid "$pid"
calm "$other" "one that was not asked for"
expect 0 'Nothing was found that costs' "$CONTEND_BINARY" doctor --watch 0.3 --pid "$pid"
expect 1 'threads wait for each other' "$CONTEND_BINARY" doctor --watch 0.3 --pid "$other"
end_all

# In a container its threads have other numbers.
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2>/dev/null; then
    start abba unshare -pf --mount-proc
    outer=$pid
    wait_for 60 pgrep -P "$outer" >/dev/null
    pid=$(pgrep -P "$outer")
    sees deadlock "$pid" --pid "$outer" || fail "none is seen in a container: $(cat "$scratch/seen")"
    says deadlock '2 threads wait for each other' 'first (' 'second ('
    [ "$(tid_of first)" != "$(told deadlock "$pid" | sed 's/.*first (\([0-9]*\)) waits.*/\1/')" ] ||
        fail "numbers that nobody outside knows: $(cat "$scratch/seen")"
    end_all
fi

# All is well: looked at beside a busy loop, again and again.
"$CONTEND_BUSY" threads="$(nproc)" &
started+=($!)
options=()
quiet=()
for kind in busy condition semaphore chain timed shared reading stack; do
    start "$kind"
    quiet+=("$pid $kind")
    options+=(--pid "$pid")
done
for _ in {1..20}; do
    look "${options[@]}"
    ! grep -q '"deadlock"\|"lost_lock"' "$scratch/seen" || fail "a false alarm: $(cat "$scratch/seen")"
done
look
for one in "${quiet[@]}"; do calm "${one%% *}" "${one#* }"; done
end_all

# Not ours to look at: that is said, with what would help.
start abba
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" = 0 ] && "${nobody[@]}" "$CONTEND_BINARY" --version >/dev/null 2>&1; then
    "${nobody[@]}" "$CONTEND_BINARY" doctor --json --watch 0.3 --pid "$pid" >"$scratch/seen"
    calm "$pid" "by another user"
    grep -qF 'would also see for which locks the threads of 1 process wait' "$scratch/seen" ||
        fail "what root would see is not said: $(cat "$scratch/seen")"
fi
end_all
finish
