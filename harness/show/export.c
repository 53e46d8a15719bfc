#include "harness/show/export.h"

#include <errno.h>
#include <math.h>
#include <sys/utsname.h>
#include <time.h>

#include "harness/lib/units.h"
#include "harness/show/checks.h"
#include "harness/show/escape.h"

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
        {"to apply it", finding->command},
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
    return 0;
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
    int rc = 0;
    for (size_t i = 0; i < findings->n && !rc; i++)
        rc = findings_add(&all, &findings->all[i], err);
    (void)snprintf(verdict.sentence, sizeof(verdict.sentence), "%s",
                   inconclusive ? inconclusive : "");
    if (!rc && inconclusive)
        rc = findings_add(&all, &verdict, err);
    if (!rc)
        rc = junit_print(suite, &all, out, err);
    findings_free(&all);
    return rc;
}
