# shellcheck shell=bash
# Sourced by tests that need Docker, in place of cli.sh. The daemon runs only during the test, without a network, with
# its own files, cgroups and PID namespace, so that no process outlives the test.
. tests/lib/pid_namespace.sh
. tests/lib/cli.sh

# start_docker: skips the test if the daemon does not start.
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
