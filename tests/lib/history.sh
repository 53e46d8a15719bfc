# shellcheck shell=bash
# Sourced: makes a series of results of one machine over time from a committed result.

# history_run FROM TO DAY FACTOR: copies FROM with that day as its date. Multiplies work per second
# by FACTOR and divides step times by it, in rounds and rows alike.
history_run() {
    local from=$1 to=$2 day=$3 factor=$4 date
    date=$(date -u -d "2026-01-01 + $day days" +%Y%m%dT120000Z)
    mkdir -p "$to"
    local id="$date-pipeline-000000" old
    old=$(jq -r .run_id "$from/run.json")
    jq --arg id "$id" --arg at "${date:0:4}-${date:4:2}-${date:6:5}:00:00Z" \
        '.run_id = $id | .started = $at' "$from/run.json" >"$to/run.json"
    awk -F, -v OFS=, -v f="$factor" -v id="$id" -v old="$old" -v CONVFMT=%.12g '
        FNR > 1 {
            sub(old, id, $1)
            by = $9 == "throughput" ? f : $9 == "step_time" ? 1 / f : 1
            last = FILENAME ~ /rounds/ ? 13 : 20
            for (i = last == 13 ? 13 : 14; i <= last && by != 1; i++)
                if ($i != "") $i = $i * by
        }
        { print > (to "/" (FILENAME ~ /rounds/ ? "rounds.csv" : "rows.csv")) }
    ' to="$to" "$from/rounds.csv" "$from/rows.csv"
}
