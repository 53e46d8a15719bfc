#!/usr/bin/env bash
# contend doctor, run as a user, while /proc hides other users' processes (hidepid) or restricts what it shows of them.
# Doctor reports what it can, and says once what it could not read and which user could. It does not report "nothing
# found" about processes that it has not seen.
. tests/lib/cli.sh
: "${CONTEND_BUSY:?}"
needs python3 root setpriv
unshare -mpf --mount-proc mount -o remount,hidepid=2,gid=4 /proc 2>/dev/null ||
    skip "may not mount /proc with hidepid"
user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
"${user[@]}" test -x "$CONTEND_BINARY" || skip "a user cannot reach the program"

if [ "${1-}" != inside ]; then
    trap - EXIT
    rm -rf "$scratch"
    exec unshare -mpf --mount-proc --kill-child bash "$0" inside
fi

member=(setpriv --reuid 65534 --regid 65534 --groups 4)
# They end with this namespace at the latest, so that they may outlive a slow machine's test.
"$CONTEND_BUSY" threads=1 lives=3600 >/dev/null &
others=$!
"${user[@]}" "$CONTEND_BUSY" threads=1 lives=3600 >/dev/null &
ours=$!
trap 'kill "$others" "$ours" 2>/dev/null; rm -rf "$scratch"' EXIT
wait_for 20 grep -qz busy "/proc/$ours/cmdline"
doctor=("$CONTEND_BINARY" doctor --time 0.4)

# seen COMMAND...: prints the pids that doctor examined, on one line.
seen() {
    "$@" --json >"$scratch/seen" 2>"$scratch/errors"
    echo $? >"$scratch/code"
    python3 -c 'import json, sys
print(*[p["pid"] for p in json.load(open(sys.argv[1]))["processes"]])' "$scratch/seen"
}
# unread TEXT: the list of what could not be read has the text exactly once.
unread() {
    python3 -c 'import json, sys
sys.exit((json.load(open(sys.argv[1]))["unread"] or "").count(sys.argv[2]) != 1)' "$scratch/seen" "$1" ||
        fail "not once '$1': $(cat "$scratch/seen")"
}

# With hidepid=0 times and masks of another user's process are readable, its environment is not.
mount -o remount,hidepid=0 /proc
[ "$(seen "${user[@]}" "${doctor[@]}" --pid "$others")" = "$others" ] || fail "others' are not read: $(cat "$scratch/errors")"
unread "pages of 1 process that this user may not read"
[ "$(seen "${user[@]}" "${doctor[@]}" --pid "$ours")" = "$ours" ]
! grep -q 'may not read\|hides' "$scratch/seen" || fail "something of our own was not read: $(cat "$scratch/seen")"
# Root in a container may lack CAP_SYS_PTRACE (and the capabilities that newer kernels accept in its place).
[ "$(seen setpriv --bounding-set=-sys_ptrace,-perfmon,-sys_admin --inh-caps=-all "${doctor[@]}" --pid "$ours")" = "$ours" ]
! grep -q 'Root would' "$scratch/seen" || fail "root is told to be root: $(cat "$scratch/seen")"
unread "it lacks CAP_SYS_PTRACE"

for mode in 1,gid=4 2,gid=4 4; do
    mount -o remount,hidepid=$mode /proc 2>/dev/null || continue # ptraceable: since Linux 5.8
    how=$(sed -n 's/.* - proc .*hidepid=\([a-z0-9]*\).*/\1/p' /proc/self/mountinfo | tail -1)
    case $how in 1) how=noaccess ;; 2) how=invisible ;; 4) how=ptraceable ;; esac
    [ "$(seen "${user[@]}" "${doctor[@]}" --all)" = "$ours" ] || fail "$mode: another than our own: $(cat "$scratch/seen")"
    unread "/proc hides processes of other users (hidepid=$how)"
    unread " CPUs meanwhile. Root"
    [ "$mode" = 4 ] || unread "or a member of group adm (4) would" || unread "or a member of group 4 would"
    expect 3 "process $others exists and may use CPUs [0-9].*hidepid=$how.*root" "${user[@]}" "${doctor[@]}" --pid "$others"
    expect 3 'there is no process 99999' "${user[@]}" "${doctor[@]}" --pid 99999
    expect 3 "process $others exists" "${user[@]}" "$CONTEND_BINARY" doctor --live --looks 1 --pid "$ours" --pid "$others"
    [ "$(seen "${user[@]}" "${doctor[@]}" --pid "$others" --pid "$ours")" = "$ours" ] || fail "$mode: our own is not read"
    unread "also $others"
    [ "$(seen "${doctor[@]}" --pid "$others")" = "$others" ] || fail "$mode: root does not see it"
    ! grep -q hides "$scratch/seen" || fail "$mode: something is hidden from root"
    [ "$mode" = 4 ] || [ "$(seen "${member[@]}" "${doctor[@]}" --pid "$others")" = "$others" ] ||
        fail "$mode: a member of the group does not see it: $(cat "$scratch/errors")"
    [ "$mode" = 4 ] || ! grep -q hides "$scratch/seen" || fail "$mode: something is hidden from the group"
done

# The user has no process, and all others are hidden: that is no success, unless a finding concerns the machine.
mount -o remount,hidepid=2 /proc
kill "$ours"
wait "$ours" 2>/dev/null
[ -z "$(seen "${user[@]}" "${doctor[@]}")" ] || fail "somebody else's is read: $(cat "$scratch/seen")"
! grep -q '"findings": \[\]' "$scratch/seen" || grep -qx 3 "$scratch/code" ||
    fail "exit $(cat "$scratch/code") where nothing was seen"
"${user[@]}" "${doctor[@]}" >"$scratch/seen" 2>&1
! grep -q 'Nothing found that costs time\.' "$scratch/seen" || fail "all is well? $(cat "$scratch/seen")"
finish
