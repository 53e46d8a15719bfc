#!/usr/bin/env bash
# Redis, nginx and PostgreSQL on this machine, by hand: figures for docs/servers.md. A server whose packages are missing is
# left out.
#
#   tests/peers/servers.sh figures [OUT]    each server once and twice under each placement that is distinct here, and one
#                                           beside an OpenMP job
#   tests/peers/servers.sh equal [OUT [N]]  each server against itself by contend ab, N times (20): what is claimed
#   tests/peers/servers.sh kills [OUT [N]]  N times (20) a server, a client or contend is killed at random, in a PID
#                                           namespace of its own: what is left
set -u
self=$(readlink -f "$0") CONTEND=$(readlink -f "${CONTEND:-$(dirname "$0")/../../contend}")
export CONTEND CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere
# shellcheck source=tests/lib/servers.sh
. "$(dirname "$self")/../lib/servers.sh"
what=${1:-} out=$(readlink -f "${2:-$(mktemp -d)}") n=${3:-20}
mkdir -p "$out" && chmod 711 "$out" && cd "$out" || exit

# row FILE PLACEMENT METRIC: median and interval
row() {
    awk -F, -v p="$2" -v m="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["placement"] == p && $at["metric"] == m {
            printf "%.4g (%.4g to %.4g)", $at["median"], $at["ci_low"], $at["ci_high"]; exit }' "$1"
}

line() { # line SERVER COPIES PLACEMENT RATE P99 SHARE
    printf '%-9s %-8s %-10s %-31s %-23s %s\n' "$@"
}

figures() {
    local placement servers neighbour run placements=none,sized,partition,spread
    line server copies placement rate 'p99, ms' 'client share'
    for run in 1 2 '1 --background=prep'; do
        read -r servers neighbour <<<"$run"
        "$CONTEND" run -n "$servers" -P "$placements" --rounds 10 --time 1 --no-baselines --no-canary --no-plots \
            --host h --force -o "$servers$neighbour" $neighbour "${load[@]}" -- "${server[@]}" >"$servers$neighbour.txt" 2>&1
        for placement in ${placements//,/ }; do
            [ -n "$(row "$servers$neighbour/rows.csv" "$placement" rate)" ] || continue # not distinct here
            line "$name" "$servers${neighbour:+ + prep}" "$placement" \
                "$(row "$servers$neighbour/rows.csv" "$placement" rate)" \
                "$(row "$servers$neighbour/rows.csv" "$placement" p99)" \
                "$(row "$servers$neighbour/rows.csv" "$placement" client_share)"
        done
    done
}

equal() {
    local i
    for ((i = 0; i < n; i++)); do
        timeout 100 "$CONTEND" ab --json -V a -V b -n 1 -P none --rounds 8 --time 0.1 --host h --force -o "equal/$i" \
            "${load[@]}" -- "${server[@]}" >/dev/null 2>equal.txt
    done
    python3 - "$name" equal/*/run.json <<'SCRIPT'
import collections, json, sys
outcomes, outside = collections.defaultdict(collections.Counter), collections.Counter()
for path in sys.argv[2:]:
    for one in json.load(open(path))["comparisons"]:
        if one["metric"] in ("rate", "p50", "p99"):
            outcomes[one["metric"]][one["outcome"]] += 1
            outside[one["metric"]] += not (one["low"] or 0) <= 1 <= (one["high"] or 1)
for metric, seen in outcomes.items():
    print(f"{sys.argv[1]:9} {metric:5} no change outside the interval: {outside[metric]} of {sum(seen.values())};", dict(seen))
SCRIPT
}

named() { # named REGEX: pids of the programs with such a name
    ps -eo pid=,comm= | awk -v regex="^($1)\$" '$2 ~ regex { print $1 }'
}
others() {
    named 'contend|redis.*|nginx|wrk|postgres|pgbench|sh'
}
listening() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -c ' 0A '
}
nobody() {
    [ -z "$(others)" ] && [ "$(listening)" = 0 ]
}

kills() {
    local i victim tries code kinds left=0 ports=0 killed=
    for ((i = 0; i < n; i++)); do
        "$CONTEND" run -n 2 -P none --time 3 --rounds 1 --no-baselines --no-canary --no-plots --host h --force \
            -o killed "${load[@]}" -- "${server[@]}" >killed.txt 2>&1 </dev/null &
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
        kinds=(contend 'redis-server|nginx|postgres' 'redis-benchmark|wrk|pgbench')
        victim=$(named "${kinds[RANDOM % 3]}" | shuf -n 1)
        victim=${victim:-$!}
        killed+=" $(cat "/proc/$victim/comm" 2>/dev/null)"
        kill -KILL "$victim" || i=$((i - 1)) # it had just ended
        wait $! 2>/dev/null
        code=$?
        for ((tries = 0; tries < 50; tries++)); do
            nobody && break
            sleep 0.1
        done
        killed+=":$code"
        left=$((left + $(others | wc -l))) ports=$((ports + $(listening)))
    done
    printf '%-9s %s kills (of:exit code)%s\n          left: %s processes, %s ports, %s SysV segments, in /dev/shm: %s\n' "$name" "$n" \
        "$killed" "$left" "$ports" "$(ipcs -m | grep -c '^0x')" "$(find /dev/shm -type f | wc -l)"
}

case $what in
figures | equal) ;;
kills)
    [ "${4:-}" = inside ] || exec unshare -pfin --kill-child --mount-proc bash "$self" kills "$out" "$n" inside
    mount -t tmpfs none /dev/shm && ip link set lo up || exit
    ;;
*) sed -n '2,/^set -u/s/^# \{0,1\}//p' "$self" && exit 2 ;;
esac
for name in "${real_servers[@]}"; do
    if missing=$(lacks "$name"); then
        echo "$name: needs $missing"
        continue
    fi
    rm -rf "${out:?}/$name" && mkdir "$out/$name" && cd "$out/$name" && "prepare_$name" || exit
    real_server "$name" 1
    $what
done
echo "load at the end: $(cut -d ' ' -f 1-3 /proc/loadavg)"
