#!/usr/bin/env bash
# contend comms passes signals on to its command, and the command continues if contend comms is killed.
. tests/lib/cli.sh
unset NCCL_PROFILER_PLUGIN CONTEND_COMMS_DIR
export TMPDIR=$scratch LINES_FILE=$scratch/lines

# The command prints a line for each signal, until one of them or a file tells it to end.
cat >"$scratch/command" <<'END'
#!/usr/bin/env bash
for signal in USR1 USR2 QUIT INT TERM HUP WINCH CONT; do
    trap "echo $signal >>$LINES_FILE" "$signal"
done
[ "${1:-}" != tells ] || kill -USR1 "$PPID" # what it sends is not handed back
echo ready >>"$LINES_FILE"
until grep -qs "^$end\$" "$LINES_FILE" "$LINES_FILE.end"; do sleep 0.05; done
echo ended >>"$LINES_FILE"
exit 7
END
chmod +x "$scratch/command"

has_line() {
    grep -qs "^$1\$" "$LINES_FILE"
}

# begin END ARGUMENT...: starts a job of its own; otherwise the shell makes it ignore INT and QUIT. Sets $contend.
begin() {
    rm -f "$LINES_FILE" "$LINES_FILE.end"
    export end=$1
    shift
    set -m
    "$CONTEND_BINARY" comms -- "$scratch/command" "$@" 2>"$scratch/err" &
    contend=$!
    set +m
    wait_for 60 has_line ready || fail "the command did not begin: $(cat "$scratch/err")"
}

begin over
for signal in USR1 USR2 QUIT INT TERM HUP WINCH CONT; do
    kill -"$signal" "$contend"
    wait_for 60 has_line "$signal" || fail "SIG$signal was not passed on"
done
echo over >"$LINES_FILE.end"
wait "$contend"
code=$?
[ "$code" = 7 ] || fail "exit code $code, expected the command's: $(cat "$scratch/err")"
grep -q 'no process of the command loaded the plugin' "$scratch/err" || fail "no report: $(cat "$scratch/err")"
[ -z "$(find "$scratch" -name 'contend-comms-*')" ] || fail "its directory was left behind"

# A signal that the command sends to contend is not passed back to it. USR2 arrives after that time and ends the
# command.
begin USR2 tells
kill -USR2 "$contend"
wait "$contend"
! has_line USR1 || fail "what the command sent to us was sent back to it"

# If contend is killed, the command continues until it ends by itself.
begin over
kill -KILL "$contend"
wait "$contend" 2>/dev/null
echo over >"$LINES_FILE.end"
wait_for 60 has_line ended || fail "the command was killed with us"

# The command receives signals of a terminal exactly once: from the terminal, or from contend if only contend receives
# them. Only contend receives Ctrl-C if the command has a process group of its own (as under timeout), and the hang-up
# of a session that contend leads.
if command -v python3 >/dev/null; then
    cat >"$scratch/terminal" <<'END'
import os, pty, sys, time
how, binary, path, *command = sys.argv[1:]

def lines():
    return open(path).read().split() if os.path.exists(path) else []

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
open(path + ".end", "w").write("over\n")
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
        rm -f "$LINES_FILE" "$LINES_FILE.end"
        apart=(timeout 600)
        [ "$how" = apart ] || apart=()
        end=over python3 "$scratch/terminal" "$how" "$CONTEND_BINARY" "$LINES_FILE" "${apart[@]}" "$scratch/command" ||
            fail "a terminal: see above"
    done
fi

# A command that cannot be started has not loaded the plugin; the report does not mention that.
output=$("$CONTEND_BINARY" comms -- "$scratch/no-such" 2>&1)
[ "$?" = 127 ] || fail "exit code of a command that is not there"
[ "$(wc -l <<<"$output")" = 1 ] || fail "more than one line of a command that is not there: $output"
finish
