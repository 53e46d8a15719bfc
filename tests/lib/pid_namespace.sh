# shellcheck shell=bash
# Sourced before anything else, with the test's own arguments: starts the test again in a PID namespace of its own, or
# skips it where none can be made.
if [ "${1:-}" != inside ]; then
    unshare -pf --kill-child --mount-proc true 2>/dev/null || {
        echo "SKIP: needs root, for a PID namespace"
        exit 77
    }
    exec unshare -pf --kill-child --mount-proc bash "$0" inside
fi
