# shellcheck shell=bash
# Sourced first, with the test's own arguments: restarts the test in a PID namespace of its own, or skips the test if
# that is not allowed.
if [ "${1:-}" != inside ]; then
    unshare -pf --kill-child --mount-proc true 2>/dev/null || {
        echo "SKIP: needs root, for a PID namespace"
        exit 77
    }
    exec unshare -pf --kill-child --mount-proc bash "$0" inside
fi
