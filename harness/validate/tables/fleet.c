#include "harness/validate/tables/fleet.h"

#include <string.h>

#include "harness/lib/base/text.h"

/* Machine, verdict, by how much, and from that column on what is off. */
#define LINE "%-18s %-5s %-15s "
enum { NAME = 18, WHAT = 41, LABEL = 10, TEXT = 1200 };

static void print_line(const char *name, enum finding_outcome outcome, const char *much,
                       const char *what, FILE *out)
{
    if (strlen(name) > NAME) { /* a line of its own: a cut name is no name */
        (void)fprintf(out, "%s\n", name);
        name = "";
    }
    (void)fprintf(out, LINE, name, finding_outcome_name(outcome), much);
    text_wrap(what, WHAT, WHAT, out);
}

static void print_offence(const struct fleet_judgement *judgement,
                          const struct fleet_offence *offence, bool is_first, FILE *out)
{
    struct finding finding;
    char what[TEXT];
    const char *much = fleet_finding(judgement, offence, &finding);
    (void)snprintf(what, sizeof(what), "%.*s%s%s",
                   (int)(much - finding.sentence) - (*much ? (int)strlen(": ") : 0),
                   finding.sentence, finding.evidence[0] ? ": " : "", finding.evidence);
    print_line(is_first ? finding.subject : "", offence->outcome, much, what, out);
}

static void print_machine(const struct fleet_judgement *judgement,
                          const struct fleet_judged *machine, FILE *out, bool color)
{
    (void)fputs(color && machine->outcome == OUTCOME_FAIL ? "\033[31m" : "", out);
    if (!machine->noffences)
        print_line(intern_text(&judgement->fleet->names, machine->machine), machine->outcome, "",
                   FLEET_NOT_JUDGED, out);
    for (size_t i = 0; i < machine->noffences && i < FLEET_OFFENCES; i++)
        print_offence(judgement, &judgement->offences[machine->first + i], !i, out);
    if (machine->noffences > FLEET_OFFENCES)
        (void)fprintf(out, "%*sand %zu more\n", WHAT, "", machine->noffences - FLEET_OFFENCES);
    (void)fputs(color && machine->outcome == OUTCOME_FAIL ? "\033[0m" : "", out);
}

static void print_counts(const struct fleet_judgement *judgement, FILE *out, bool color)
{
    const struct bounds *bounds = judgement->bounds;
    const size_t *count = judgement->count;
    char text[400], skipped[80] = "";
    if (count[OUTCOME_SKIP])
        (void)snprintf(skipped, sizeof(skipped), ", %zu not judged", count[OUTCOME_SKIP]);
    (void)snprintf(text, sizeof(text),
                   "%zu of %zu machines fail, %zu are odd, %zu pass%s: %zu results, %zu figures.",
                   count[OUTCOME_FAIL], judgement->nmachines, count[OUTCOME_WARN],
                   count[OUTCOME_PASS], skipped, judgement->fleet->nruns, bounds->n);
    (void)fputs(color ? "\033[1m" : "", out);
    text_wrap(text, 0, 0, out);
    (void)fputs(color ? "\033[0m" : "", out);
    text_field(LABEL, "machines", "%s",
               bounds->kind && *bounds->kind ? bounds->kind : "of any kind");
    text_field(LABEL, "bounds", "%s, of %u machines", bounds->how, bounds->machines);
}

void fleet_print(const struct fleet_judgement *judgement, FILE *out, bool color)
{
    size_t nodd = judgement->nmachines - judgement->count[OUTCOME_PASS];
    if (nodd)
        (void)fprintf(out, LINE "%s\n", "machine", "", "by how much", "what is off");
    for (size_t i = 0; i < nodd && i < FLEET_LINES; i++)
        print_machine(judgement, &judgement->machines[i], out, color);
    if (nodd > FLEET_LINES)
        (void)fprintf(out, "... and %zu more machines; --json has all\n", nodd - FLEET_LINES);
    (void)fputs(nodd ? "\n" : "", out);
    print_counts(judgement, out, color);
}
