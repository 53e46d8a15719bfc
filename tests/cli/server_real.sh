#!/usr/bin/env bash
# Real servers under real clients: two of each under none and partition, and one beside an OpenMP job that takes all CPUs.
. tests/lib/cli.sh
. tests/lib/servers.sh
needs two-cpus
export CONTEND_LIBCUDA=/nowhere CONTEND_LIBNVML=/nowhere
chmod 711 "$scratch"

# measure OUT WORKERS OPTION...: under both placements; each row must have what the client says.
measure() {
    local out=$folder/$1 workers=$2 placement metric rate p50 p99 share
    shift 2
    expect 0 'p99' env -C "$folder" "$CONTEND_BINARY" run --workers "$workers" --placement none,partition --time 0.1 \
        --no-baselines --no-canary --no-plots --host h --unit requests/s --out "$out" "$@" "${load[@]}" -- "${server[@]}"
    for placement in none partition; do
        for metric in rate p50 p99 client_share; do
            case $(cell "$out/rows.csv" $placement "$workers" $metric status) in
            ok | noisy) ;;
            *) fail "$out, $placement, $metric: $(grep ",$placement," "$out/rows.csv" | head -1)" ;;
            esac
            read -r "${metric#client_}" < <(cell "$out/rows.csv" $placement "$workers" $metric median)
        done
        awk -v rate="$rate" -v p50="$p50" -v p99="$p99" -v share="$share" \
            'BEGIN { exit !(rate > 0 && p50 > 0 && p99 >= p50 && share > 0 && share < 1) }' ||
            fail "$out, $placement: rate '$rate', p50 '$p50', p99 '$p99', client_share '$share'"
    done
    nothing_left "$out"
}

# These servers overwrite their environment (pids_of_this_test), but work in this test's folder.
nothing_left() { # nothing_left OUT
    local port ports
    ! readlink /proc/[0-9]*/cwd | grep -F "$folder" || fail "$1: left running"
    ports=$(cat "$1"/command-output/* | grep -oE '(port[ =]|127\.0\.0\.1:)[0-9]+' | grep -oE '[0-9]+$' | sort -u)
    [ -n "$ports" ] || fail "$1: no port in $(cat "$1"/command-output/*)"
    for port in $ports; do
        ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || fail "$1: port $port is in use"
    done
}

for name in "${real_servers[@]}"; do
    if missing=$(lacks "$name"); then
        leave_out "$name, without $missing"
        continue
    fi
    folder=$scratch/$name
    mkdir "$folder"
    (cd "$folder" && "prepare_$name") || {
        fail "$name: $(cat "$folder/prepare.log")"
        continue
    }
    real_server "$name" 1
    begin=$SECONDS
    measure pair 2 --rounds 2
    measure neighbour 1 --rounds 1 --background prep
    awk -F, '/,background_rate,/ { n += $14 > 0 } END { exit n != 2 }' "$folder/neighbour/rows.csv" || fail "$name: no neighbour"
    echo "$name: $((SECONDS - begin)) s"
done
finish
