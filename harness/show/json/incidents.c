#include "harness/show/json/incidents.h"

#include "harness/record/json_value.h"

static json_t *doctor_to_json(const struct incident_doctor *doctor)
{
    return json_value_object("looked:b named:b found:T evidence:T fix:T cured:b gain:r low:r "
                             "high:r reason:T",
                             doctor->was_run, doctor->found_expected, doctor->id, doctor->evidence,
                             doctor->fix, doctor->gain_is_proven, doctor->gain, doctor->low,
                             doctor->high, doctor->reason);
}

static json_t *one_to_json(const void *of, size_t i)
{
    const struct incident_outcome *one = &((const struct incident_outcome *)of)[i];
    const struct incident *incident = one->incident;
    const struct incident_report *reported = &incident->reported;
    return json_value_object(
        "incident:t symptom:t title:t url:t date:t reported:r end:t reason:T metric:t unit:T "
        "sick:r cured:r speed_up:r low:r high:r rounds:i witness:t witness_unit:T "
        "witness_sick:r witness_cured:r doctor:o took_s:r",
        incident->scenario.name, incident->scenario.summary, reported->title, reported->url,
        reported->date, incident_reported(incident), incident_end_name(one->end), one->reason,
        incident->metric, one->unit, one->before, one->after, one->speed_up, one->low, one->high,
        one->rounds, incident->witness, one->witness_unit, one->witness[0], one->witness[1],
        doctor_to_json(&one->doctor), one->took_s);
}

json_t *incidents_to_json(const struct incident_outcome *all, size_t n)
{
    return json_value_array(all, n, one_to_json);
}
