#include "harness/show/report/markdown.h"

#include <string.h>

#include "harness/show/report/escape.h"

static void print_command(const char *command, FILE *out)
{
    /* Indented: a fence could end inside the command. */
    (void)fputs("\n  To apply it:\n\n      ", out);
    escape_line(command, out);
    (void)fputs("\n\n", out);
}

void markdown_print_finding(const struct finding *finding, FILE *out)
{
    static const char *const marks[FINDING_SEVERITIES] = {"", "Doubt: ", "**Bad:** "};
    const char *outcome = finding_outcome_name(finding->outcome);
    (void)fputs("- ", out);
    if (outcome[0])
        (void)fprintf(out, "**%s** ", outcome);
    else
        (void)fputs(marks[finding->severity], out);
    if (finding->subject[0]) {
        escape_markdown(finding->subject, out);
        (void)fputs(": ", out);
    }
    escape_markdown(finding->sentence, out);
    if (finding->evidence[0] && !strstr(finding->sentence, finding->evidence)) {
        (void)fputs(" (", out);
        escape_markdown(finding->evidence, out);
        (void)fputc(')', out);
    }
    (void)fputc('\n', out);
    if (finding->command[0])
        print_command(finding->command, out);
}

void markdown_print_sentence(const struct finding *finding, FILE *out)
{
    const char *outcome = finding_outcome_name(finding->outcome);
    (void)fputc('\n', out);
    if (outcome[0])
        (void)fprintf(out, "**%s**: ", outcome);
    escape_markdown(finding->sentence, out);
    (void)fputc('\n', out);
    if (finding->command[0])
        print_command(finding->command, out);
}

void markdown_print_findings(const struct findings *findings, FILE *out)
{
    for (int subjects = 0; subjects < 2; subjects++)
        for (size_t i = 0; i < findings->n; i++)
            if ((findings->all[i].subject[0] != '\0') == subjects)
                markdown_print_finding(&findings->all[i], out);
}
