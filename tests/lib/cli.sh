# shellcheck shell=bash
# Sourced by tests/cli/*.sh: small assertions that print what they found.
set -u
: "${CONTEND_BINARY:?}" "${CONTEND_FAKE:?}"
scratch=$(mktemp -d)
export CONTEND_TEST=$scratch # in the environment of every process that this test starts
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
    printf 'FAIL: %s\n' "$*"
    failures=$((failures + 1))
}

# skip REASON...
skip() {
    echo "SKIP: $*"
    exit 77
}

# needs WHAT...: programs, root or two-cpus; skips the test if one is missing. tests/run.sh knows which of them
# `./contend test --all` installs.
needs() {
    local what
    for what in "$@"; do
        case $what in
        root) [ "$(id -u)" = 0 ] ;;
        two-cpus) [ "$(nproc)" -ge 2 ] ;;
        python3) python3 -c '' 2>/dev/null ;; # also where the command only tells how to install it
        *) command -v "$what" >/dev/null ;;
        esac || skip "needs $what"
    done
}

# with_idle_stat COMMAND...: runs it with a /proc/stat that does not change. The command sees no other load and no steal,
# so no round counts as disturbed. Call `can_have_idle_stat || skip ...` before.
with_idle_stat() {
    [ -e "$scratch/stat" ] || cat /proc/stat >"$scratch/stat"
    unshare -rm sh -c 'mount --bind "$0" /proc/stat && exec "$@"' "$scratch/stat" "$@"
}
can_have_idle_stat() {
    with_idle_stat true 2>/dev/null
}

# without_gnuplot: for tests of other things, as figures take longer than a short run. PATH becomes a folder of links.
# shellcheck disable=SC2123
without_gnuplot() {
    local folder
    mkdir "$scratch/commands"
    for folder in ${PATH//:/ }; do
        ln -s "$folder"/* "$scratch/commands" 2>/dev/null
    done
    rm -f "$scratch/commands/gnuplot"
    PATH=$scratch/commands
}

# expect CODE PATTERN COMMAND...: checks the exit code, and searches stdout+stderr for an extended regular expression.
# The limit is $limit_s seconds, or 200.
expect() {
    local code=$1 pattern=$2 got output
    shift 2
    output=$(timeout "${limit_s:-200}" "$@" 2>&1 < /dev/null)
    got=$?
    [ "$got" = "$code" ] || fail "exit $got, expected $code: $*"$'\n'"$output"
    printf '%s\n' "$output" | grep -Eq -- "$pattern" ||
        fail "no /$pattern/ in the output of: $*"$'\n'"$output"
}

# same_numbers FILE FILE: the same fields between commas, of which numbers may differ in the last of nine digits: libraries
# round halves of decimal numbers differently. Prints what differs.
same_numbers() {
    awk -F, -v other="$2" '
        function near(a, b) { return a == b || (a + 0 != 0 && (a - b) / a < 2e-8 && (b - a) / a < 2e-8) }
        BEGIN { number = "^-?[0-9.]+(e[-+]?[0-9]+)?$" }
        { there = (getline line < other) > 0 ? line : "nothing"; same = split(there, of, ",") == NF
          for (i = 1; i <= NF && same; i++)
              same = $i == of[i] "" || ($i ~ number && of[i] ~ number && near($i + 0, of[i] + 0))
          if (!same) { print "< " $0 "\n> " there; bad = 1 } }
        END { if ((getline line < other) > 0) { print "> " line; bad = 1 }; exit bad }' "$1"
}

# well_formed PAGE: checks by xmllint, if installed; its parser does not know the elements of HTML 5.
well_formed() {
    ! command -v xmllint >/dev/null || ! xmllint --html --noout "$1" 2>&1 | grep error | grep -v 'Tag .* invalid' ||
        fail "no HTML: $1"
}

# expect_equal WHAT GOT EXPECTED: fails if GOT and EXPECTED differ.
expect_equal() {
    [ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"
}

# cell FILE PLACEMENT WORKERS METRIC COLUMN: prints one field of rows.csv; no quoted commas may precede it.
cell() {
    awk -F, -v p="$2" -v w="$3" -v m="$4" -v c="$5" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["placement"] == p && $at["workers"] == w && $at["metric"] == m { print $at[c]; exit }
    ' "$1"
}

# columns FILE NAME...: prints these columns of all lines but the header; no quoted commas may precede them.
columns() {
    local file=$1
    shift
    awk -F, -v names="$*" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, name, " "); next }
        { for (i = 1; i <= n; i++) printf "%s%s", $at[name[i]], i < n ? "," : "\n" }' "$file"
}

# block FILE AFTER: prints the first block scalar ("|") of a YAML file below the first line that contains AFTER, without
# its indentation.
block() {
    awk -v after="$2" '
        !on { on = index($0, after) > 0; if (!on || !/[|]-?$/) next }
        on == 1 { if (/[|]-?$/) on = 2; next }
        !NF { print ""; next }
        { match($0, /[^ ]/); if (!indent) indent = RSTART; if (RSTART < indent) exit; print substr($0, indent) }' "$1"
}

# wait_for SECONDS COMMAND...: repeats the command until it succeeds; fails after that time.
wait_for() {
    local tries=$(($1 * 10))
    shift
    until "$@"; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.1
    done
}

ended() { # ended PID: has no such process, or is a zombie
    ! kill -0 "$1" 2>/dev/null || grep -qs '^State:.Z' "/proc/$1/status"
}

# retry COMMAND...: repeats until one success a check that a busy machine may disturb (tests/lib/patience.h).
retry() {
    local _
    for _ in {1..30}; do
        "$@" && return
    done
    return 1
}

# pids_of_this_test PATTERN: processes whose command line matches and that this test started. Processes of another copy
# of the test do not count.
pids_of_this_test() {
    local pid
    for pid in $(pgrep -f -- "$1"); do
        ! grep -qzFx -- "CONTEND_TEST=$scratch" "/proc/$pid/environ" 2>/dev/null || echo "$pid"
    done
}

none_of_this_test() { # none_of_this_test PATTERN
    [ -z "$(pids_of_this_test "$1")" ]
}

# in_background COMMAND...: runs a command that waits for a limit in the background. `finish` waits for it, and fails
# if it failed.
waits=()
in_background() {
    local log=$scratch/in_background.${#waits[@]}
    (
        trap - EXIT
        failures=0
        "$@"
        exit $((failures > 0))
    ) >"$log" 2>&1 </dev/null &
    waits+=($!)
}

# leave_out WHAT: load on the machine forbids to check this part. A test that passes otherwise then counts as skipped.
left_out=()
leave_out() {
    left_out+=("$*;")
}

finish() {
    local i
    for i in "${!waits[@]}"; do
        wait "${waits[i]}" || fail "in the background: $(cat "$scratch/in_background.$i")"
    done
    [ "$failures" = 0 ] || exit 1
    [ "${#left_out[@]}" = 0 ] || skip "left out: ${left_out[*]}"
    echo "ok"
    exit 0
}
