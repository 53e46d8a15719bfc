#include "harness/show/export.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>

#include "harness/lib/text.h"
#include "harness/show/escape.h"

/* Shared by the output forms for other programs: which findings are checks, and their names. */

/* The result of a check. */
enum check_end {
    CHECK_NONE,    /* the finding judges nothing */
    CHECK_GOOD,    /* PASS, SAME, FASTER */
    CHECK_OPEN,    /* WARN: nothing is proven wrong, but a person should read it */
    CHECK_FAILED,  /* FAIL, SLOWER */
    CHECK_ERROR,   /* ERROR */
    CHECK_SKIPPED, /* SKIP, MISSING, UNCLEAR: nothing is proven either way */
    CHECK_ENDS
};
enum check_end check_end_of(const struct finding *finding);

enum check_end check_end_of(const struct finding *finding)
{
    static const enum check_end ends[OUTCOMES] = {
        [OUTCOME_PASS] = CHECK_GOOD,       [OUTCOME_WARN] = CHECK_OPEN,
        [OUTCOME_FAIL] = CHECK_FAILED,     [OUTCOME_SKIP] = CHECK_SKIPPED,
        [OUTCOME_ERROR] = CHECK_ERROR,     [OUTCOME_FASTER] = CHECK_GOOD,
        [OUTCOME_SLOWER] = CHECK_FAILED,   [OUTCOME_SAME] = CHECK_GOOD,
        [OUTCOME_UNCLEAR] = CHECK_SKIPPED, [OUTCOME_MISSING] = CHECK_SKIPPED,
    };
    return ends[finding->outcome];
}

/*
 * Returns how many checks before findings->all[i] have the same id, subject and metric. Readers
 * that identify a check by its name would keep only one of them.
 */
static size_t checks_alike_before(const struct findings *findings, size_t i)
{
    const struct finding *this = &findings->all[i];
    size_t n = 0;
    for (size_t j = 0; j < i; j++) {
        const struct finding *other = &findings->all[j];
        n += check_end_of(other) != CHECK_NONE && strcmp(other->id, this->id) == 0 &&
             strcmp(other->subject, this->subject) == 0 && strcmp(other->metric, this->metric) == 0;
    }
    return n;
}

static void print_attribute(const char *name, const char *text, FILE *out)
{
    (void)fprintf(out, " %s=\"", name);
    escape_markup(text, out);
    (void)fputc('"', out);
}

/* "GPU 2: busbw_low (busbw_gbps)", with a number for repeated names. */
static void print_name(const struct findings *findings, size_t i, FILE *out)
{
    const struct finding *finding = &findings->all[i];
    size_t alike = checks_alike_before(findings, i);
    (void)fputs(" name=\"", out);
    escape_markup(finding->subject, out);
    (void)fputs(finding->subject[0] ? ": " : "", out);
    escape_markup(finding->id, out);
    if (finding->metric[0]) {
        (void)fputs(" (", out);
        escape_markup(finding->metric, out);
        (void)fputc(')', out);
    }
    if (alike)
        (void)fprintf(out, " #%zu", alike + 1);
    (void)fputc('"', out);
}

static void print_number(const char *label, double value, const char *unit, FILE *out)
{
    if (isnan(value))
        return;
    (void)fprintf(out, "%s: %s ", label, units_plain(value, 6));
    escape_markup(unit, out);
    (void)fputc('\n', out);
}

/* Prints all that a person needs to act on the finding. */
static void print_body(const struct finding *finding, FILE *out)
{
    (void)fprintf(out, "%s: ", finding_outcome_name(finding->outcome));
    escape_markup(finding->sentence, out);
    (void)fputc('\n', out);
    if (finding->metric[0]) {
        print_number("value", finding->value, finding->unit, out);
        print_number("low", finding->low, finding->unit, out);
        print_number("high", finding->high, finding->unit, out);
    }
    const struct {
        const char *label, *text;
    } more[] = {
        {"evidence", finding->evidence},
        {"class", finding->cause},
        {finding_command_label(finding), finding->command},
    };
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        if (!more[i].text[0])
            continue;
        (void)fprintf(out, "%s: ", more[i].label);
        escape_markup(more[i].text, out);
        (void)fputc('\n', out);
    }
}

static void print_end(const char *element, const struct finding *finding, FILE *out)
{
    (void)fprintf(out, "      <%s", element);
    print_attribute("message", finding->sentence, out);
    if (check_end_of(finding) != CHECK_SKIPPED) /* `skipped` has no type */
        print_attribute("type", finding_outcome_name(finding->outcome), out);
    (void)fputc('>', out);
    print_body(finding, out);
    (void)fprintf(out, "</%s>\n", element);
}

static void print_case(const char *suite, const struct findings *findings, size_t i, FILE *out)
{
    static const char *const elements[CHECK_ENDS] = {
        [CHECK_FAILED] = "failure", [CHECK_ERROR] = "error", [CHECK_SKIPPED] = "skipped"};
    const struct finding *finding = &findings->all[i];
    const char *element = elements[check_end_of(finding)];
    (void)fputs("    <testcase classname=\"contend.", out);
    escape_markup(suite, out);
    (void)fputc('"', out);
    print_name(findings, i, out);
    (void)fputs(" time=\"0\"", out); /* required by the schema, but not known */
    (void)fputs(element ? ">\n" : "/>\n", out);
    if (!element)
        return;
    print_end(element, finding, out);
    (void)fputs("    </testcase>\n", out);
}

static void print_suite_start(const char *suite, const size_t ends[CHECK_ENDS], FILE *out)
{
    struct utsname host;
    struct tm tm = {0};
    time_t now = time(NULL);
    char stamp[64] = "";
    (void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
    (void)fputs("  <testsuite", out);
    print_attribute("name", suite, out);
    (void)fprintf(out, " package=\"contend\" id=\"0\" timestamp=\"%s\"", stamp);
    print_attribute("hostname", !uname(&host) && host.nodename[0] ? host.nodename : "localhost",
                    out);
    (void)fprintf(out,
                  " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"0\">\n",
                  ends[CHECK_GOOD] + ends[CHECK_OPEN] + ends[CHECK_FAILED] + ends[CHECK_ERROR] +
                      ends[CHECK_SKIPPED],
                  ends[CHECK_FAILED], ends[CHECK_ERROR], ends[CHECK_SKIPPED]);
    (void)fputs("    <properties/>\n", out);
}

int junit_print(const char *suite, const struct findings *findings, FILE *out, struct err *err)
{
    size_t ends[CHECK_ENDS] = {0};
    for (size_t i = 0; i < findings->n; i++)
        ends[check_end_of(&findings->all[i])]++;
    (void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
    print_suite_start(suite, ends, out);
    for (size_t i = 0; i < findings->n; i++)
        if (check_end_of(&findings->all[i]) != CHECK_NONE)
            print_case(suite, findings, i, out);
    (void)fputs("    <system-out>", out);
    for (size_t i = 0; i < findings->n; i++) {
        if (check_end_of(&findings->all[i]) != CHECK_OPEN)
            continue;
        escape_markup(findings->all[i].subject, out);
        (void)fputs(findings->all[i].subject[0] ? ": " : "", out);
        print_body(&findings->all[i], out);
    }
    (void)fputs("</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n", out);
    if (fflush(out) || ferror(out))
        return err_set(err, -EIO, "cannot write the JUnit file");
    return findings_check(findings, err);
}

int junit_print_verdict(const char *suite, const struct findings *findings,
                        const char *inconclusive, FILE *out, struct err *err)
{
    struct findings all = {0};
    struct finding verdict = {.id = "verdict",
                              .severity = FINDING_BAD,
                              .outcome = OUTCOME_ERROR,
                              .value = NAN,
                              .low = NAN,
                              .high = NAN};
    for (size_t i = 0; i < findings->n; i++)
        findings_put(&all, &findings->all[i]);
    if (inconclusive)
        findings_putf(&all, &verdict, "%s", inconclusive);
    int rc = junit_print(suite, &all, out, err);
    findings_free(&all);
    return rc;
}

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

static void prometheus_print_number(double value, FILE *out)
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
        prometheus_print_number(!is_wrong(end), to->out);
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
        prometheus_print_number(1, to->out);
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
        prometheus_print_number(number, to->out);
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
