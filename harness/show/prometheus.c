#include "harness/show/prometheus.h"

#include <math.h>
#include <stdbool.h>

#include "harness/show/checks.h"
#include "harness/show/escape.h"

/* The input of one prometheus_print. */
struct exposition {
    const struct findings *findings;
    const char *const *labels;
    FILE *out;
};

static void print_label(const char *name, const char *value, FILE *out)
{
    (void)fprintf(out, ",%s=\"", name);
    escape_label(value, out);
    (void)fputc('"', out);
}

static void print_family(const char *name, const char *help, FILE *out)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* Prints a series up to the labels that only its family has. */
static void print_series(const struct exposition *to, const char *family, size_t i)
{
    const struct finding *finding = &to->findings->all[i];
    size_t alike = checks_alike_before(to->findings, i);
    (void)fprintf(to->out, "%s{id=\"", family);
    escape_label(finding->id, to->out);
    (void)fputc('"', to->out);
    print_label("subject", finding->subject, to->out);
    print_label("metric", finding->metric, to->out);
    for (const char *const *label = to->labels; label && *label; label += 2)
        print_label(label[0], label[1], to->out);
    if (alike)
        (void)fprintf(to->out, ",repeat=\"%zu\"", alike + 1);
}

static void print_number(double value, FILE *out)
{
    if (isinf(value))
        (void)fputs(value > 0 ? "} +Inf\n" : "} -Inf\n", out);
    else
        (void)fprintf(out, "} %.17g\n", value);
}

static bool is_wrong(enum check_end end)
{
    return end == CHECK_FAILED || end == CHECK_ERROR;
}

/* Labels hold no values or sentences. A rule that passes is one series; a rule that fails is one
 * series per unit and metric, so these series come and go. */
static void print_checks(const struct exposition *to)
{
    bool any = false;
    for (size_t i = 0; i < to->findings->n; i++) {
        enum check_end end = check_end_of(&to->findings->all[i]);
        if (end == CHECK_NONE || end == CHECK_SKIPPED)
            continue;
        if (!any)
            print_family("contend_check",
                         "0 where the check is FAIL, SLOWER or ERROR; none of one that judged "
                         "nothing.",
                         to->out);
        any = true;
        print_series(to, "contend_check", i);
        print_number(!is_wrong(end), to->out);
    }
}

static void print_info(const struct exposition *to)
{
    bool any = false;
    for (size_t i = 0; i < to->findings->n; i++) {
        const struct finding *finding = &to->findings->all[i];
        if (check_end_of(finding) == CHECK_NONE)
            continue;
        if (!any)
            print_family("contend_check_info", "How each check ended, and whom to ask.", to->out);
        any = true;
        print_series(to, "contend_check_info", i);
        print_label("cause", finding->cause, to->out);
        print_label("outcome", finding_outcome_name(finding->outcome), to->out);
        print_number(1, to->out);
    }
}

/* Prints one of the numbers of each finding; `bound` is "" for the value itself. */
static void print_numbers(const struct exposition *to, const char *family, const char *help,
                          const char *bound, bool *any)
{
    for (size_t i = 0; i < to->findings->n; i++) {
        const struct finding *finding = &to->findings->all[i];
        double number = !bound[0] ? finding->value : bound[0] == 'l' ? finding->low : finding->high;
        if (!finding->metric[0] || check_end_of(finding) == CHECK_NONE || isnan(number))
            continue;
        if (!*any)
            print_family(family, help, to->out);
        *any = true;
        print_series(to, family, i);
        print_label("unit", finding->unit, to->out);
        if (bound[0])
            print_label("bound", bound, to->out);
        print_number(number, to->out);
    }
}

void prometheus_print(const struct findings *findings, const char *const labels[], FILE *out)
{
    static const char bound[] = "contend_bound", held[] = "What bounds contend_value.";
    const struct exposition to = {findings, labels, out};
    bool values = false, bounds = false;
    print_checks(&to);
    print_info(&to);
    print_numbers(&to, "contend_value", "The number that a check looked at, in its unit.", "",
                  &values);
    print_numbers(&to, bound, held, "low", &bounds);
    print_numbers(&to, bound, held, "high", &bounds);
}

static void print_whole(const char *family, const char *help, double value,
                        const char *const labels[], FILE *out)
{
    print_family(family, help, out);
    (void)fputs(family, out);
    for (const char *const *label = labels; label && *label; label += 2) {
        (void)fprintf(out, "%s%s=\"", label == labels ? "{" : ",", label[0]);
        escape_label(label[1], out);
        (void)fputc('"', out);
    }
    (void)fprintf(out, "%s %.17g\n", labels && *labels ? "}" : "", value);
}

void prometheus_print_verdict(enum finding_outcome outcome, time_t when, const char *const labels[],
                              FILE *out)
{
    const struct finding whole = {.outcome = outcome};
    enum check_end end = check_end_of(&whole);
    print_whole("contend_verdict",
                "0 where a check failed or did not run that should have, or none judged.",
                end == CHECK_GOOD || end == CHECK_OPEN, labels, out);
    print_whole("contend_verdict_timestamp_seconds", "When that was.", (double)when, labels, out);
}
