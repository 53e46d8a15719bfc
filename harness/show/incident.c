#include "harness/show/incident.h"

#include <math.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"
#include "harness/lib/units.h"
#include "harness/record/number.h"

/* "41x", "0.39x", "-" for NaN. */
static const char *times(double ratio)
{
    if (isnan(ratio))
        return "-";
    return str_fmt(ratio >= 9.95 ? "%.0fx" : "%.2gx", ratio);
}

static const char *range(double low, double high)
{
    if (isnan(low) || isnan(high))
        return "-";
    return str_fmt("%s to %s", times(low), times(high));
}

static const char *doctor_word(const struct incident_outcome *one)
{
    const struct incident_doctor *doctor = &one->doctor;
    if (!one->incident->doctor)
        return "no check";
    if (!doctor->was_run)
        return "-";
    if (!one->incident->doctor[0])
        return doctor->found_expected ? "silent" : "WRONG";
    return doctor->found_expected ? "names it" : "misses it";
}

static void add_row(const struct incident_outcome *one, struct doc_table *table)
{
    double reported = incident_reported(one->incident);
    doc_row(table, DOC_PLAIN);
    doc_cell(table, "%s", one->incident->scenario.name);
    doc_cell(table, "%s", incident_end_name(one->end));
    doc_tone(table, one->end == INCIDENT_SHOWN                                ? DOC_GOOD
                    : one->end == INCIDENT_NOT || one->end == INCIDENT_FAILED ? DOC_BAD
                                                                              : DOC_PLAIN);
    doc_cell(table, "%s", times(reported));
    doc_cell(table, "%s", times(one->speed_up));
    doc_cell(table, "%s", range(one->low, one->high));
    doc_cell(table, "%s", doctor_word(one));
    doc_cell(table, "%s", times(one->doctor.gain));
    doc_cell(table, "%s", one->end == INCIDENT_SHOWN ? "" : one->reason);
}

static void add_table(const struct incident_outcome *all, size_t n, struct doc *doc)
{
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_CODE, "incident");
    doc_column(table, DOC_LABEL, "ended");
    doc_columns(table, DOC_NUMBER, "reported", "here", "interval", NULL);
    doc_column(table, DOC_LABEL, "doctor");
    doc_column(table, DOC_NUMBER, "its fix");
    doc_column(table, DOC_SENTENCE, "why");
    for (size_t i = 0; i < n; i++)
        add_row(&all[i], table);
}

static void add_reported(const struct incident *incident, struct doc *doc)
{
    const struct incident_report *reported = &incident->reported;
    const char *figures = str_fmt("%s", reported->figures ? reported->figures : "");
    if (!reported->figures && reported->what)
        figures = str_fmt("%s -> %s %s, %s", units_plain(reported->before, 4),
                          units_plain(reported->after, 4), reported->what,
                          times(incident_reported(incident)));
    doc_gap(doc);
    doc_text(doc, "Reported: %s; %s.", figures, reported->machine);
    doc_text(doc, "%s%s%s", reported->url, reported->date ? ", " : "",
             reported->date ? reported->date : "");
    doc_text(doc, "Here: %s.", incident->differs);
}

static void add_here(const struct incident_outcome *one, struct doc *doc)
{
    const struct incident *incident = one->incident;
    if (!isnan(one->before))
        doc_text(doc, "%s: %s -> %s %s, %u paired rounds.", incident->metric,
                 number_format(one->before, one->unit, false),
                 number_format(one->after, one->unit, false), number_unit(one->unit), one->rounds);
    if (incident->witness && !isnan(one->witness[0]))
        doc_text(doc, "%s: %s -> %s %s.", incident->witness,
                 number_format(one->witness[0], one->witness_unit, false),
                 number_format(one->witness[1], one->witness_unit, false),
                 number_unit(one->witness_unit));
}

static void add_doctor(const struct incident_outcome *one, struct doc *doc)
{
    const struct incident_doctor *doctor = &one->doctor;
    if (!doctor->was_run) {
        if (doctor->reason[0])
            doc_text(doc, "doctor: %s.", doctor->reason);
        return;
    }
    if (!one->incident->doctor[0])
        doc_text(doc,
                 doctor->found_expected ? "doctor advises nothing here, as it should."
                                        : "doctor advises a fix here, which it should not: %s.",
                 doctor->id);
    else
        doc_text(doc, "doctor %s%s%s.", doctor_word(one), doctor->id[0] ? ": " : "", doctor->id);
    if (doctor->evidence[0])
        doc_text(doc, "It sees: %s.", doctor->evidence);
    if (doctor->fix[0])
        doc_text(doc, "Its fix: %s: %s (%s)%s.", doctor->fix, times(doctor->gain),
                 range(doctor->low, doctor->high),
                 doctor->gain_is_proven ? "" : ", not proven in so few starts");
    else if (doctor->reason[0])
        doc_text(doc, "%s.", doctor->reason);
}

static void add_verdict(const struct incident_outcome *one, struct doc *doc)
{
    const struct incident *incident = one->incident;
    enum finding_severity severity = one->end == INCIDENT_NOT || one->end == INCIDENT_FAILED
                                         ? FINDING_BAD
                                     : one->end == INCIDENT_SHOWN ? FINDING_NOTE
                                                                  : FINDING_DOUBT;
    if (one->end == INCIDENT_SHOWN && incident->harms)
        doc_verdict(doc, severity, NULL, "reproduced: that cure slows to %s here (%s); %s.",
                    times(one->speed_up), range(one->low, one->high), incident->cure);
    else if (one->end == INCIDENT_SHOWN)
        doc_verdict(doc, severity, NULL, "reproduced and cured: %s is %s as fast (%s).",
                    incident->cure, times(one->speed_up), range(one->low, one->high));
    else if (one->end == INCIDENT_NOT)
        doc_verdict(doc, severity, NULL, "not reproduced: %s is %s as fast here (%s).",
                    incident->cure, times(one->speed_up), range(one->low, one->high));
    else
        doc_verdict(doc, severity, NULL, "%s: %s", incident_end_name(one->end), one->reason);
}

void incidents_add_to_doc(const struct incident_outcome *all, size_t n, struct doc *doc)
{
    size_t shown = incidents_count(all, n, INCIDENT_SHOWN),
           none = incidents_count(all, n, INCIDENT_NOT),
           skipped = incidents_count(all, n, INCIDENT_SKIPPED);
    if (n == 1)
        add_verdict(all, doc);
    else
        doc_verdict(doc, none ? FINDING_BAD : FINDING_NOTE, NULL,
                    "%zu of %zu incidents reproduced and cured, %zu not reproduced, %zu skipped, "
                    "%zu unclear, %zu failed",
                    shown, n, none, skipped, incidents_count(all, n, INCIDENT_UNCLEAR),
                    incidents_count(all, n, INCIDENT_FAILED));
    if (n > 1) {
        doc_gap(doc);
        add_table(all, n, doc);
        doc_note(doc, "reported, here: speed-up by the cure; its fix: speed-up by what doctor "
                      "advises");
        return;
    }
    add_reported(all->incident, doc);
    add_here(all, doc);
    add_doctor(all, doc);
}
