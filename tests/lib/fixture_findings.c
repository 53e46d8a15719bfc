#include "tests/lib/fixture_findings.h"
#include "tests/lib/unit.h"

const char fixture_hostile[] = "]]><script>alert(\"1\")</script> 'a'&|`b`\nc\\\x01\xff @all";

struct finding fixture_check(const char *id, enum finding_outcome outcome)
{
    struct finding finding = {.outcome = outcome,
                              .subject = "GPU 2",
                              .sentence = "too slow",
                              .evidence = "z -50.7",
                              .command = "contend info",
                              .cause = "hardware",
                              .metric = "busbw",
                              .unit = "GB/s",
                              .value = 2.5,
                              .low = 3,
                              .high = (double)NAN};
    put_text(finding.id, "%s", id);
    return finding;
}

struct findings fixture_all_outcomes(void)
{
    struct findings findings = {0};
    for (int i = 0; i < OUTCOMES; i++) {
        const char *name = finding_outcome_name((enum finding_outcome)i);
        const struct finding finding = fixture_check(name, (enum finding_outcome)i);
        findings_put(&findings, &finding);
    }
    return findings;
}

char *fixture_printed(void (*print)(const struct findings *findings, FILE *out),
                      const struct findings *findings)
{
    char *text = NULL;
    FILE *out = unit_print_into(&text);
    print(findings, out);
    assert_int_equal(fclose(out), 0);
    return text;
}
