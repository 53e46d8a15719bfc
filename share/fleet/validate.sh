#!/bin/sh
# Validates many machines at once by ssh, collects DIR/HOST/validate.json, and judges the fleet. Exit code: 0 all
#   pass, 1 a machine fails, 3 a machine gave no verdict or could not be judged, 4 nothing was judged.
#     OPTIONS='--machine 8xh100-sxm' ./validate.sh DIR HOST...     # HOST: as for ssh; $(cat hosts.txt) for many
# To change: SSH, REMOTE (contend on the machines) and CONTEND (here), in the environment.
# Tried: shellcheck; with OpenSSH 9.2 as written, three machines and one that is down (tests/cli/jobs_fleet.sh). Untried:
#   hundreds of machines, and sudo that asks for a password.
set -u
: "${SSH=ssh -o BatchMode=yes -o ConnectTimeout=10}" "${REMOTE=sudo -n contend}" "${CONTEND=contend}" "${OPTIONS=}"
[ $# -ge 2 ] || { echo "usage: $0 DIR HOST..." >&2 && exit 2; }
dir=$1
shift
for host in "$@"; do
    case $host in -* | .* | */*) echo "$0: invalid host '$host'" >&2 && exit 2 ;; esac
    mkdir -p "$dir/$host" || exit 2
done
for host in "$@"; do
    (
        $SSH "$host" "$REMOTE validate --json $OPTIONS" < /dev/null > "$dir/$host/validate.json" 2> "$dir/$host/log"
        echo $? > "$dir/$host/code"
    ) &
done
wait
failed=0 silent=0
for host in "$@"; do
    code=$(cat "$dir/$host/code") none=
    [ -s "$dir/$host/validate.json" ] || none=none
    case $none$code in
    0) echo "PASS  $host" ;;
    1) echo "FAIL  $host" && failed=1 ;;
    3) echo "ERROR $host: a rule that should have run did not" && silent=1 ;;
    4) echo "SKIP  $host: nothing was judged" ;;
    *)
        echo "ERROR $host: exit $code: $(tail -n 1 "$dir/$host/log")" && silent=1
        rm -f "$dir/$host/validate.json"
        ;;
    esac
done
echo
code=0
$CONTEND validate fleet "$dir" || code=$?
[ $code != 1 ] && [ $failed = 0 ] || exit 1
[ $silent = 0 ] || exit 3
exit $code
