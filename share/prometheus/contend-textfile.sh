#!/bin/sh
# Writes contend's findings for node_exporter's textfile collector, one file a command:
#     contend-textfile.sh validate --expect gpus=8     # without load, two seconds
#     contend-textfile.sh doctor                       # watches five seconds
#     contend-textfile.sh run pipeline                 # loads the machine for a minute: only on idle machines
# To change: TEXTFILE_DIR and CONTEND, in the environment. Needs jq, for doctor and run.
# Tried: shellcheck; promtool check metrics, and node_exporter 1.5 and Prometheus 2.42 reading all three (tests/cli/jobs_prometheus.sh).
set -eu
dir=${TEXTFILE_DIR:-/var/lib/prometheus/node-exporter}
contend=${CONTEND:-contend}
what=${1:?validate, doctor or run}
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016
series='def family($name; $help): "# HELP \($name) \($help)", "# TYPE \($name) gauge";
def series($name; $labels; $value): $name + "{" + ($labels | to_entries | map("\(.key)=\(.value | tostring | tojson)") | join(",")) + "} \($value)";
'
code=0
case $what in
validate)
    "$contend" validate --no-measure --prometheus "$dir/contend_validate.prom" "$@" > /dev/null
    exit
    ;;
doctor)
    "$contend" doctor --json "$@" > "$work/json" || code=$?
    metrics='
    family("contend_doctor_findings"; "Findings of contend doctor."),
    (.findings | group_by(.id)[] | series("contend_doctor_findings"; {check: .[0].id}; length)),
    family("contend_doctor_cost_ratio"; "Share of the time of the processes named that is lost."),
    (.findings | map(select(.cost)) | group_by(.id)[] | series("contend_doctor_cost_ratio"; {check: .[0].id}; map(.cost) | max)),
    family("contend_doctor_running_cpus"; "CPUs that the busy processes used."),
    "contend_doctor_running_cpus \(([.processes[].cpu_s] | add // 0) / .watched_s)",
    family("contend_doctor_waiting_cpus"; "Threads of them that waited in the run queue, on average."),
    "contend_doctor_waiting_cpus \(([.processes[].wait_s] | add // 0) / .watched_s)",
    family("contend_doctor_timestamp_seconds"; "When that was."),
    "contend_doctor_timestamp_seconds \(now | floor)"'
    ;;
run)
    "$contend" run --json --no-plots -o "$work/results" "$@" > "$work/json" || code=$?
    metrics='
    map(select(.role == "foreground" and .metric == "throughput" and .median)) |
    def labels: {scenario, placement, workers, bench, device, params};
    family("contend_run_throughput"; "Throughput of all workers, in its unit."),
    (.[] | series("contend_run_throughput"; labels + {unit}; .median)),
    family("contend_run_speed_up"; "Throughput relative to the placement none."),
    (.[] | select(.speed_up) | series("contend_run_speed_up"; labels; .speed_up)),
    family("contend_run_recommended"; "1: the placement that contend recommends."),
    (.[] | series("contend_run_recommended"; labels; if .recommended then 1 else 0 end)),
    family("contend_run_disturbed"; "1: other programs ran beside it, so it is no evidence."),
    (.[] | series("contend_run_disturbed"; labels; if .status == "noisy" then 1 else 0 end)),
    family("contend_run_timestamp_seconds"; "When that was."),
    "contend_run_timestamp_seconds \(now | floor)"'
    ;;
*)
    echo "$0: invalid value '$what'; valid: validate, doctor, run" >&2
    exit 2
    ;;
esac
case $code in
0 | 1) ;; # doctor: 1, where it found something
*) exit $code ;;
esac
jq -r "$series$metrics" "$work/json" > "$work/metrics"
chmod 644 "$work/metrics"
cp "$work/metrics" "$dir/contend_$what.prom.new" # not read under this name
mv "$dir/contend_$what.prom.new" "$dir/contend_$what.prom"
