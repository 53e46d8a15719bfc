# shellcheck shell=bash
# Sourced by tests that need Docker, in place of cli.sh: a daemon that runs only as long as the test, without a network,
# with files, cgroups and a namespace of PIDs of its own, in which nothing outlives the test.
. tests/lib/pid_namespace.sh
. tests/lib/cli.sh

# start_docker: skips the test where it does not start.
start_docker() {
    export DOCKER_HOST=unix://$scratch/socket
    parent=contend-test-$$-$(date +%s)
    dockerd --data-root "$scratch/data" --exec-root "$scratch/exec" --pidfile "$scratch/pid" -H "$DOCKER_HOST" --bridge none \
        --iptables=false --ip-masq=false --cgroup-parent "/$parent" >"$scratch/log" 2>&1 &
    daemon=$!
    trap end_docker EXIT
    wait_for 60 docker info >/dev/null 2>&1 || skip "dockerd does not start: $(tail -n 3 "$scratch/log")"
}

end_docker() {
    kill "$daemon" 2>/dev/null && wait "$daemon"
    umount "$scratch"/exec/netns/* 2>/dev/null
    find /sys/fs/cgroup -depth -type d -path "*/$parent*" -exec rmdir {} + 2>/dev/null
    rm -rf "$scratch"
}
