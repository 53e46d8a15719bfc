#include "harness/validate/tables/fleet.h"

#include <string.h>

#include "harness/lib/base/text.h"

/* Machine, verdict, by how much, and from that column on what is off. */
#define LINE "%-18s %-5s %-15s "
enum { NAME = 18, WHAT = 41, LABEL = 10 };

static void print_offence(const struct fleet *fleet, const struct bounds *bounds,
                          const struct fleet_judgement *judgement,
                          const struct fleet_judged *machine, size_t i, FILE *out)
{
    char what[FLEET_SAID_MAX], much[FLEET_SAID_MAX];
    const struct fleet_offence *offence = &judgement->offences[machine->first + i];
    const char *name = i ? "" : intern_text(&fleet->names, machine->machine);
    if (strlen(name) > NAME) { /* a line of its own: a cut name is no name */
        (void)fprintf(out, "%s\n", name);
        name = "";
    }
    (void)fprintf(out, LINE, name, finding_outcome_name(offence->outcome),
                  fleet_offence_much(offence, much, sizeof(much)));
    text_wrap(fleet_offence_what(fleet, bounds, judgement, offence, what, sizeof(what)), WHAT, WHAT,
              out);
}

static void print_machine(const struct fleet *fleet, const struct bounds *bounds,
                          const struct fleet_judgement *judgement,
                          const struct fleet_judged *machine, FILE *out, bool color)
{
    (void)fputs(color && machine->outcome == OUTCOME_FAIL ? "\033[31m" : "", out);
    if (!machine->noffences) {
        (void)fprintf(out, LINE, intern_text(&fleet->names, machine->machine),
                      finding_outcome_name(machine->outcome), "");
        text_wrap(FLEET_NOT_JUDGED, WHAT, WHAT, out);
    }
    for (size_t i = 0; i < machine->noffences && i < FLEET_OFFENCES; i++)
        print_offence(fleet, bounds, judgement, machine, i, out);
    if (machine->noffences > FLEET_OFFENCES)
        (void)fprintf(out, "%*sand %zu more\n", WHAT, "", machine->noffences - FLEET_OFFENCES);
    (void)fputs(color && machine->outcome == OUTCOME_FAIL ? "\033[0m" : "", out);
}

static void print_counts(const struct fleet *fleet, const struct bounds *bounds,
                         const struct fleet_judgement *judgement, FILE *out, bool color)
{
    char text[400], skipped[80] = "";
    if (judgement->nskip)
        (void)snprintf(skipped, sizeof(skipped), ", %zu not judged", judgement->nskip);
    (void)snprintf(text, sizeof(text),
                   "%zu of %zu machines fail, %zu are odd, %zu pass%s: %zu results, %zu figures.",
                   judgement->nfail, judgement->nmachines, judgement->nwarn, judgement->npass,
                   skipped, fleet->nruns, bounds->n);
    (void)fputs(color ? "\033[1m" : "", out);
    text_wrap(text, 0, 0, out);
    (void)fputs(color ? "\033[0m" : "", out);
    text_field(LABEL, "machines", "%s",
               bounds->kind && *bounds->kind ? bounds->kind : "of any kind");
    text_field(LABEL, "bounds", "%s, of %u machines", bounds->how, bounds->machines);
}

void fleet_print(const struct fleet *fleet, const struct bounds *bounds,
                 const struct fleet_judgement *judgement, FILE *out, bool color)
{
    size_t nodd = judgement->nwarn + judgement->nfail + judgement->nskip;
    if (nodd)
        (void)fprintf(out, LINE "%s\n", "machine", "", "by how much", "what is off");
    for (size_t i = 0; i < nodd && i < FLEET_LINES; i++)
        print_machine(fleet, bounds, judgement, &judgement->machines[i], out, color);
    if (nodd > FLEET_LINES)
        (void)fprintf(out, "... and %zu more machines; --json has all\n", nodd - FLEET_LINES);
    (void)fputs(nodd ? "\n" : "", out);
    print_counts(fleet, bounds, judgement, out, color);
}
