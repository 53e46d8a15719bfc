# shellcheck shell=bash
# Sourced by tests of real servers: Redis, nginx under wrk and PostgreSQL under pgbench, with their files in the current
# folder, which a user 'postgres' must be able to enter.
# shellcheck disable=SC2034
real_servers=(redis nginx postgres)
PATH=$PATH:/usr/sbin
pg_bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -1) # not in PATH on Debian
PATH=${pg_bin:+$pg_bin:}$PATH
as_postgres=()
[ "$(id -u)" != 0 ] || as_postgres=(setpriv --reuid postgres --regid postgres --clear-groups --)

# lacks NAME: prints the first program of this server and its client that is missing; fails if there is none.
lacks() {
    local program programs=(redis-server redis-benchmark)
    [ "$1" != nginx ] || programs=(nginx wrk)
    [ "$1" != postgres ] || programs=(postgres initdb pg_ctl pgbench)
    for program in "${programs[@]}"; do
        command -v "$program" >/dev/null || { echo "$program" && return; }
    done
    return 1
}

prepare_redis() {
    :
}

prepare_nginx() {
    cat >nginx.conf <<'SCRIPT'
daemon off;
worker_processes auto;
pid nginx-PORT.pid;
error_log stderr;
events { }
http {
    access_log off;
    client_body_temp_path .; proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .;
    server { listen 127.0.0.1:PORT; location / { return 200 "hello\n"; } }
}
SCRIPT
    cat >wrk.lua <<'SCRIPT'
function done(summary, latency)
    print("p50 " .. latency:percentile(50) / 1000 .. "\np99 " .. latency:percentile(99) / 1000)
end
SCRIPT
}

# A folder of data for each of two servers. pgbench logs each query; its own summary has no percentiles.
prepare_postgres() {
    cat >pgbench.sh <<'SCRIPT'
port=$1
shift
rm -f log"$port".*
pgbench -h 127.0.0.1 -p "$port" -U postgres -n -S -l --log-prefix log"$port" "$@" postgres &&
    cut -d ' ' -f 3 log"$port".* | sort -n | awk '{ us[NR] = $1 }
        END { print "p50", us[int(NR * 0.5) + 1] / 1000 "\np99", us[int(NR * 0.99) + 1] / 1000 }'
SCRIPT
    mkdir -p data || return
    [ "$(id -u)" != 0 ] || chown postgres data || return
    {
        "${as_postgres[@]}" initdb -D data/0 -U postgres -A trust --no-sync --locale C &&
            "${as_postgres[@]}" pg_ctl -w -D data/0 -l data/log -o "-h '' -k '$PWD/data'" start &&
            pgbench -h "$PWD/data" -U postgres -i -q postgres
        "${as_postgres[@]}" pg_ctl -w -D data/0 stop && cp -a data/0 data/1
    } >prepare.log 2>&1
}

# real_server NAME SECONDS: sets `server`, its command, and `load`, the options that load it for about so long.
real_server() {
    local any='"[^"]*",'
    load=(--ready 'tcp:{port}' --less-is-better 'p50,p99')
    [ "$1" != postgres ] || load[1]='line:ready to accept connections' # its port accepts some that it then refuses
    case $1 in
    redis)
        server=(redis-server --port '{port}' --save '')
        load+=(--load "redis-benchmark -p {port} -t get -n $(($2 * 50000)) -c 16 --csv"
            --metric 'rate="GET","([0-9.]+)"' --metric "p50=\"GET\",$any$any$any\"([0-9.]+)\""
            --metric 'p99="GET",.*"([0-9.]+)","[0-9.]+"$')
        ;;
    nginx)
        server=(sh -c 'sed s/PORT/{port}/ nginx.conf >nginx-{port}.conf && exec nginx -p "$PWD" -c nginx-{port}.conf -e stderr')
        load+=(--load "wrk -t 1 -c 16 -d $2 -s wrk.lua http://127.0.0.1:{port}/"
            --metric 'rate=Requests/sec: +([0-9.]+)')
        ;;
    postgres)
        server=("${as_postgres[@]}" postgres -D 'data/{worker}' -h 127.0.0.1 -k '' -p '{port}')
        load+=(--load "sh pgbench.sh {port} -c 16 -T $2" --metric 'rate=^tps = ([0-9.]+)')
        ;;
    esac
    [ "$1" = redis ] || load+=(--metric 'p50=^p50 ([0-9.]+)' --metric 'p99=^p99 ([0-9.]+)')
}
