#!/usr/bin/env bash
# The scenario os: a row of each of its parts. What a machine refuses is a skipped row, with what would allow it.
. tests/lib/cli.sh
export NO_COLOR=1
short=(--rounds 1 --no-plots --no-canary)

expect 0 '^event_loop$' "$CONTEND_BINARY" run os "${short[@]}" --time 0.1 --out "$scratch/os"
expect 0 'expected time: ([1-5]?[0-9]|60) s' "$CONTEND_BINARY" run os --dry-run
parts=$(grep -oP '^    SCAN\("\K[a-z_]+' <(sed -n '/^static const struct scenario_part os_parts/,/^};/p' bench/scenarios.c))
[ "$(wc -l <<<"$parts")" -ge 5 ] || fail "the parts of os are not found: $parts"
for part in $parts; do
    cut -d, -f6 "$scratch/os/rows.csv" | grep -qx "$part" || fail "no row of $part"
done

rows() { # rows NAME: the results of echo servers
    grep -E ",(echo|shared)_rate," "$scratch/$1/rows.csv"
}
echoes=("$CONTEND_BINARY" bench event_loop "${short[@]}" --time 0.1)

# Without the system call, the rows of the rings say so; that of epoll has a value.
if "$CONTEND_REFUSE" io_uring_setup EPERM true; then
    expect 0 'skipped: .*io_uring' "$CONTEND_REFUSE" io_uring_setup EPERM "${echoes[@]}" -p connections=1 \
        --out "$scratch/refused"
    [ "$(rows refused | grep -c 'skipped,.*allows it')" = 4 ] || fail "not refused: $(rows refused)"
    [ "$(rows refused | grep 'loop=epoll' | grep -vc skipped)" = 2 ] || fail "no epoll: $(rows refused)"
fi

# Too few open files: only the connections that need more are skipped.
# shellcheck disable=SC2016 # for the shell inside
expect 0 'ulimit -Hn' bash -c 'ulimit -n 200 && exec "$@"' few "${echoes[@]}" -p loop=epoll --out "$scratch/files"
[ "$(rows files | grep 'connections=1000' | grep -c 'skipped,.*1064 open files')" = 1 ] || fail "$(rows files)"
[ "$(rows files | grep -vc skipped)" = 4 ] || fail "$(rows files)"
finish
