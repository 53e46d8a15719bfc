#!/usr/bin/env bash
# contend comms: signals that are sent to it are its command's, which goes on where it is killed.
. tests/lib/cli.sh
unset NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR
export TMPDIR=$scratch TOLD=$scratch/told

# The command: a line for each signal that it gets, until it is told to end by one of them, or by a file.
cat >"$scratch/command" <<'END'
#!/usr/bin/env bash
for signal in USR1 USR2 QUIT INT TERM HUP WINCH CONT; do
    trap "echo $signal >>$TOLD" "$signal"
done
[ "${1:-}" != tells ] || kill -USR1 "$PPID" # what it sends is not handed back
echo ready >>"$TOLD"
until grep -qs "^$end\$" "$TOLD" "$TOLD.end"; do sleep 0.05; done
echo ended >>"$TOLD"
exit 7
END
chmod +x "$scratch/command"

is_told() {
    grep -qs "^$1\$" "$TOLD"
}

# begin END ARGUMENT...: a job of its own, or the shell had it ignore INT and QUIT. Sets $contend.
begin() {
    rm -f "$TOLD" "$TOLD.end"
    export end=$1
    shift
    set -m
    "$CONTEND_BINARY" comms -- "$scratch/command" "$@" 2>"$scratch/err" &
    contend=$!
    set +m
    wait_for 60 is_told ready || fail "the command did not begin: $(cat "$scratch/err")"
}

begin over
for signal in USR1 USR2 QUIT INT TERM HUP WINCH CONT; do
    kill -"$signal" "$contend"
    wait_for 60 is_told "$signal" || fail "SIG$signal was not passed on"
done
echo over >"$TOLD.end"
wait "$contend"
code=$?
[ "$code" = 7 ] || fail "exit code $code, expected the command's: $(cat "$scratch/err")"
grep -q 'no process of the command loaded the plugin' "$scratch/err" || fail "no report: $(cat "$scratch/err")"
[ -z "$(find "$scratch" -name 'contend-comms-*')" ] || fail "its directory was left behind"

# The second signal comes when the first one, had it been handed back, were there.
begin USR2 tells
kill -USR2 "$contend"
wait "$contend"
! is_told USR1 || fail "what the command sent to us was sent back to it"

# Killed: the command goes on, and ends when it wants to.
begin over
kill -KILL "$contend"
wait "$contend" 2>/dev/null
echo over >"$TOLD.end"
wait_for 60 is_told ended || fail "the command was killed with us"

# What a terminal sends reaches the command: by itself and once, or, where we alone are told, by us.
# Ctrl-C of a command in a group of its own, as timeout makes one, and the hang-up of a session that we lead are so.
if command -v python3 >/dev/null; then
    cat >"$scratch/terminal" <<'END'
import os, pty, sys, time
how, binary, told, *command = sys.argv[1:]

def lines():
    return open(told).read().split() if os.path.exists(told) else []

def wait_for(word):
    for _ in range(600):
        if word in lines():
            return
        time.sleep(0.1)
    sys.exit(f"{how}: no {word}: {lines()}")

pid, terminal = pty.fork()
if not pid:
    os.execv(binary, [binary, "comms", "--", *command])
wait_for("ready")
if how == "hang-up":
    os.close(terminal)
    wait_for("HUP")
else:
    os.write(terminal, b"\x03")
    wait_for("INT")
if how == "once":
    os.kill(pid, 12)  # USR2, which a second INT would have come before
    wait_for("USR2")
open(told + ".end", "w").write("over\n")
try:
    while os.read(terminal, 4096):
        pass
except OSError:
    pass
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if how == "once" and lines().count("INT") != 1 or code != 7:
    sys.exit(f"{how}: {lines()}, exit code {code}")
END
    for how in once apart hang-up; do
        rm -f "$TOLD" "$TOLD.end"
        apart=(timeout 600)
        [ "$how" = apart ] || apart=()
        end=over python3 "$scratch/terminal" "$how" "$CONTEND_BINARY" "$TOLD" "${apart[@]}" "$scratch/command" ||
            fail "a terminal: see above"
    done
fi

# One that cannot be started has not loaded the plugin, which is no news.
output=$("$CONTEND_BINARY" comms -- "$scratch/no-such" 2>&1)
[ "$?" = 127 ] || fail "exit code of a command that is not there"
[ "$(wc -l <<<"$output")" = 1 ] || fail "more than one line of a command that is not there: $output"
finish
