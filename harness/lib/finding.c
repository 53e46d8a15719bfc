#include "harness/lib/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/lib/text.h"

const char *finding_severity_name(enum finding_severity severity)
{
    static const char *const names[FINDING_SEVERITIES] = {"note", "doubt", "bad"};
    return names[severity];
}

const char *finding_outcome_name(enum finding_outcome outcome)
{
    static const char *const names[OUTCOMES] = {
        [OUTCOME_NONE] = "",           [OUTCOME_PASS] = "PASS",       [OUTCOME_WARN] = "WARN",
        [OUTCOME_FAIL] = "FAIL",       [OUTCOME_SKIP] = "SKIP",       [OUTCOME_ERROR] = "ERROR",
        [OUTCOME_FASTER] = "FASTER",   [OUTCOME_SLOWER] = "SLOWER",   [OUTCOME_SAME] = "SAME",
        [OUTCOME_UNCLEAR] = "UNCLEAR", [OUTCOME_MISSING] = "MISSING",
    };
    return names[outcome];
}

enum finding_outcome finding_outcome_find(const char *name)
{
    for (int i = 0; name && i < OUTCOMES; i++)
        if (strcmp(finding_outcome_name((enum finding_outcome)i), name) == 0)
            return (enum finding_outcome)i;
    return OUTCOME_NONE;
}

/* Begins of commands that change nothing. */
static const char *const showing[] = {"cat ",
                                      "contend bench",
                                      "contend info",
                                      "contend run",
                                      "contend validate",
                                      "dmesg",
                                      "gdb -p",
                                      "grep ",
                                      "head",
                                      "lsmod",
                                      "lspci",
                                      "nvidia-smi --query",
                                      "nvidia-smi -L",
                                      "nvidia-smi -q",
                                      "nvidia-smi nvlink -s",
                                      "nvidia-smi nvlink --status",
                                      "ps ",
                                      "py-spy dump"};

/* Whether one command of a line only shows; sudo, ssh HOST and variables may stand before it. */
static bool only_shows(const char *command)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    for (;;) {
        const char *end = strchr(command += strspn(command, " "), ' ');
        const bool is_ssh = strncmp(command, "ssh ", 4) == 0;
        if (end && is_ssh)
            end = strchr(end + 1, ' ');
        if (!end || !(is_ssh || strncmp(command, "sudo ", 5) == 0 ||
                      command[strspn(command, letters)] == '='))
            break;
        command = end;
    }
    for (size_t i = 0; i < sizeof(showing) / sizeof(showing[0]); i++)
        if (strncmp(command, showing[i], strlen(showing[i])) == 0)
            return true;
    return false;
}

const char *finding_command_label(const struct finding *finding)
{
    const char *command = finding->command;
    while (*command && only_shows(command)) {
        command += strcspn(command, ";|&");
        command += strspn(command, ";|&");
    }
    return *command ? "to apply it" : "to see more";
}

void findings_put(struct findings *findings, const struct finding *finding)
{
    struct finding *added = array_add(findings->all, findings->n, findings->capacity);
    findings->failed = findings->failed || !added;
    if (added)
        *added = *finding;
}

int findings_check(const struct findings *findings, struct err *err)
{
    return findings->failed ? err_set(err, -ENOMEM, "out of memory for %zu findings", findings->n)
                            : 0;
}

void findings_putf(struct findings *findings, const struct finding *finding, const char *fmt, ...)
{
    struct finding said = *finding;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(said.sentence, sizeof(said.sentence), fmt, args);
    va_end(args);
    findings_put(findings, &said);
}

void findings_report(const struct findings_about *about, const char *id,
                     enum finding_severity severity, const char *fmt, ...)
{
    struct finding finding = {.severity = severity};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(finding.sentence, sizeof(finding.sentence), fmt, args);
    va_end(args);
    text_set(finding.id, "%s", id);
    text_set(finding.subject, "%s", about->subject ? about->subject : "");
    text_set(finding.evidence, "%s", about->evidence ? about->evidence : "");
    findings_put(about->findings, &finding);
}

void findings_free(struct findings *findings)
{
    free(findings->all);
    *findings = (struct findings){0};
}
