/* What surrounds the numbers: commands, the machine, what is to be doubted, where it came from. */
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/show/html/html_parts.h"
#include "harness/show/report/escape.h"

static void print_command(const char *what, const char *command, FILE *out)
{
    (void)fputs("<p>", out);
    escape_markup(what, out);
    (void)fputs("</p>\n<pre>", out);
    escape_markup(command, out);
    (void)fputs("</pre>\n", out);
}

static void print_repeat(const struct about *about, FILE *out)
{
    (void)fputs("<p>To repeat it:</p>\n<pre>", out);
    for (size_t i = 0; i < about->nwords; i++) {
        char word[512];
        (void)fputs(i ? " " : "", out);
        if (text_shell_word(about->words[i], word, sizeof(word)) < sizeof(word))
            escape_markup(word, out);
        else
            escape_markup(about->words[i], out);
    }
    (void)fputs("</pre>\n", out);
}

void html_commands(const struct html_side *side, FILE *out)
{
    const struct findings *findings = &side->recorded->findings;
    if (side->about->nwords)
        print_repeat(side->about, out);
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        char what[300];
        (void)snprintf(what, sizeof(what), "%s%sto apply it:", finding->subject,
                       finding->subject[0] ? ": " : "The better placement, ");
        if (finding->command[0])
            print_command(what, finding->command, out);
    }
}

void html_facts(const struct html_side *side, FILE *out)
{
    (void)fputs("<div class=\"scroll\"><table class=\"facts\">\n", out);
    for (size_t i = 0; i < side->about->nfacts; i++) {
        (void)fputs("<tr><th scope=\"row\">", out);
        escape_markup(side->about->facts[i].label, out);
        (void)fputs("</th><td class=\"text\">", out);
        escape_markup(side->about->facts[i].text, out);
        (void)fputs("</td></tr>\n", out);
    }
    (void)fputs("</table></div>\n", out);
}

static void print_finding(const struct finding *finding, FILE *out)
{
    static const char *const classes[FINDING_SEVERITIES] = {"note", "doubt", "bad"};
    const char *outcome = finding_outcome_name(finding->outcome);
    (void)fprintf(out, "<li class=\"%s\"><b>%s</b> ", classes[finding->severity],
                  outcome[0] ? outcome : classes[finding->severity]);
    escape_markup(finding->subject, out);
    (void)fputs(finding->subject[0] ? ": " : "", out);
    escape_markup(finding->sentence, out);
    if (finding->evidence[0]) {
        (void)fputs(" <small>(", out);
        escape_markup(finding->evidence, out);
        (void)fputs(")</small>", out);
    }
    (void)fputs("</li>\n", out);
}

static void print_odd_arm(const struct html_side *side, size_t i, FILE *out)
{
    const struct arm *arm = &side->recorded->result.arms[i];
    const struct arm_rounds *rounds = &side->recorded->analysis.rounds.arms[i];
    const char *reason = arm->plan.status == PLAN_SKIPPED ? arm->plan.reason : rounds->reason;
    if (arm->alone || arm->canary || (rounds->status == STATUS_OK && arm->plan.status == PLAN_OK))
        return;
    (void)fputs("<li class=\"note\"><b>", out);
    escape_markup(status_name(rounds->status), out);
    (void)fputs("</b> ", out);
    html_say(out, "%s, %s, %u worker%s", arm->bench->name, placement_infos[arm->placement].name,
             arm->slots, arm->slots == 1 ? "" : "s");
    (void)fputs(reason[0] ? ": " : "", out);
    escape_markup(reason, out);
    (void)fputs("</li>\n", out);
}

void html_findings(const struct findings *findings, FILE *out)
{
    for (int severity = FINDING_BAD; severity >= FINDING_NOTE; severity--)
        for (size_t i = 0; i < findings->n; i++)
            if ((int)findings->all[i].severity == severity && findings->all[i].subject[0])
                print_finding(&findings->all[i], out);
}

/* Those of subjects: the verdict has the others; then what was skipped or disturbed, and what the
 * run noted of itself. */
void html_warnings(const struct html_side *side, FILE *out)
{
    const struct recorded *recorded = side->recorded;
    (void)fputs("<ul class=\"findings\">\n", out);
    html_findings(&recorded->findings, out);
    for (size_t i = 0; i < recorded->result.narms; i++)
        print_odd_arm(side, i, out);
    for (size_t i = 0; i < side->about->nnotes; i++) {
        (void)fputs("<li class=\"note\"><b>note</b> ", out);
        escape_markup(side->about->notes[i], out);
        (void)fputs("</li>\n", out);
    }
    (void)fputs("</ul>\n", out);
}

static void print_line(const char *label, const char *text, FILE *out)
{
    if (!text || !text[0])
        return;
    (void)fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"text\">", label);
    escape_markup(text, out);
    (void)fputs("</td></tr>\n", out);
}

void html_provenance(const struct html_side *side, FILE *out)
{
    const struct recorded *recorded = side->recorded;
    char rounds[64], seed[32];
    (void)snprintf(rounds, sizeof(rounds), "%u of %u", recorded->result.rounds_done,
                   recorded->result.rounds_planned);
    (void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)recorded->result.seed);
    (void)fputs("<div class=\"scroll\"><table class=\"facts\">\n", out);
    print_line("run", recorded->result.run_id, out);
    print_line("directory", side->path, out);
    print_line("measured by", recorded->version ? recorded->version : "", out);
    print_line("commit", recorded->commit, out);
    print_line("status", side->about->status, out);
    print_line("started", side->about->started, out);
    print_line("ended", side->about->ended, out);
    print_line("rounds", rounds, out);
    print_line("seed", seed, out);
    (void)fputs("</table></div>\n", out);
}
