# shellcheck shell=bash disable=SC2154
# Sourced after cli.sh: what contend doctor finds in some processes.

# look PID...: stores doctor's findings on these processes in $scratch/seen.
watch_s=0.5
look() {
    local options=()
    for pid in "$@"; do options+=(--pid "$pid"); done
    "$CONTEND_BINARY" doctor --json --time "$watch_s" "${options[@]}" >"$scratch/seen" 2>"$scratch/errors"
    case $? in
    0 | 1) ;;
    *)
        fail "doctor failed: $(cat "$scratch/errors")"
        echo '{"findings": []}' >"$scratch/seen"
        ;;
    esac
}

# named ID: prints a line for each finding of that id: its pids, sorted. Prints nothing if there is none.
named() {
    python3 - "$scratch/seen" "$1" <<'END'
import json, sys
for finding in json.load(open(sys.argv[1]))["findings"]:
    if finding["id"] == sys.argv[2]:
        print(*sorted(finding["pids"]))
END
}

command_of() { # command_of ID
    python3 - "$scratch/seen" "$1" <<'END'
import json, sys
print(next(f["command"] or "" for f in json.load(open(sys.argv[1]))["findings"] if f["id"] == sys.argv[2]))
END
}

# True if doctor reports a finding of that id. Tries several times, each longer, as other load may hide a finding.
sees() { # sees ID PID...
    local id=$1 watch_s
    shift
    for watch_s in 0.5 1.5 1.5 3 3 3 3 3; do
        look "$@"
        [ -z "$(named "$id")" ] || return 0
    done
    return 1
}

# True if one finding of that id names all of the pids. On a busy machine a process may get too little CPU time to be
# judged.
sees_all() { # sees_all ID PID...
    local id=$1 watch_s all
    shift
    all=$(printf '%s\n' "$@" | sort -n | paste -sd' ')
    for watch_s in 0.5 1.5 1.5 3 3 3 3 3; do
        look "$@"
        ! named "$id" | grep -qxF "$all" || return 0
    done
    return 1
}
