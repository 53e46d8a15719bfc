#!/usr/bin/env bash
# --bind cgroup, and the script of place --emit cgroup, where cgroups of version 2 have no cpuset to
# give: a stated skip, and nothing runs unbound. Where they have: tests/vm/cgroup_vm.sh.
. tests/lib/cli.sh
export NO_COLOR=1
expect 2 "bind: invalid value 'mark'; did you mean 'mask'\? valid: mask, cgroup" "$CONTEND_BINARY" run --bind mark
mounted=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -n "$mounted" ] && grep -qw cpuset "$mounted/cgroup.controllers"; then
    [ "$failures" = 0 ] && echo "SKIP: cgroup v2 has a cpuset here" && exit 77
else
    expect 3 'nothing was measured' "$CONTEND_FAKE" bench fake --rounds 1 --time 0.1 --no-plots --bind cgroup \
        --out "$scratch/here"
    grep -Eq ",skipped,.*cgroup" "$scratch/here/rows.csv" || fail "no reason: $(cat "$scratch/here/rows.csv")"
    emitted=$("$CONTEND_BINARY" place --emit cgroup -n 1 -P same --cpus "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" -- true 2>/dev/null)
    expect 2 'refused: .*cgroup|refused: .*cpuset' sh -c "$emitted"
fi
finish
