/* What surrounds the numbers: commands, the machine, what is to be doubted, where it came from. */
#include <string.h>

#include "harness/lib/base/text.h"
#include "harness/show/html/html_parts.h"
#include "harness/show/report/escape.h"

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
        if (!finding->command[0])
            continue;
        html_line("p", out, "%s%sto apply it:", finding->subject,
                  finding->subject[0] ? ": " : "The better placement, ");
        html_line("pre", out, "%s", finding->command);
    }
}

static void print_line(const char *label, const char *text, FILE *out)
{
    (void)fputs("<tr>", out);
    html_element(HTML_NAME, out, "%s", label);
    html_element("td class=\"text\"", out, "%s", text);
    (void)fputs("</tr>\n", out);
}

void html_facts(const struct html_side *side, FILE *out)
{
    (void)fputs("<div class=\"scroll\"><table class=\"facts\">\n", out);
    for (size_t i = 0; i < side->about->nfacts; i++)
        print_line(side->about->facts[i].label, side->about->facts[i].text, out);
    (void)fputs("</table></div>\n", out);
}

static void print_finding(const struct finding *finding, FILE *out)
{
    static const char *const classes[FINDING_SEVERITIES] = {"note", "doubt", "bad"};
    const char *outcome = finding_outcome_name(finding->outcome);
    (void)fprintf(out, "<li class=\"%s\"><b>%s</b> ", classes[finding->severity],
                  outcome[0] ? outcome : classes[finding->severity]);
    html_say(out, "%s%s", finding->subject, finding->subject[0] ? ": " : "");
    html_sentence(finding, out);
    (void)fputs("</li>\n", out);
}

static void print_odd_arm(const struct html_side *side, size_t i, FILE *out)
{
    const struct arm *arm = &side->recorded->result.arms[i];
    const struct arm_rounds *rounds = &side->recorded->analysis.rounds.arms[i];
    const char *reason = arm->plan.status == PLAN_SKIPPED ? arm->plan.reason : rounds->reason;
    if (arm->alone || arm->canary || (rounds->status == STATUS_OK && arm->plan.status == PLAN_OK))
        return;
    (void)fputs("<li class=\"note\">", out);
    html_element("b", out, "%s", status_name(rounds->status));
    html_say(out, " %s, %s, %u worker%s%s%s", arm->bench->name,
             placement_infos[arm->placement].name, arm->slots, arm->slots == 1 ? "" : "s",
             reason[0] ? ": " : "", reason);
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
        html_say(out, "%s", side->about->notes[i]);
        (void)fputs("</li>\n", out);
    }
    (void)fputs("</ul>\n", out);
}

void html_provenance(const struct html_side *side, FILE *out)
{
    const struct recorded *recorded = side->recorded;
    char rounds[64], seed[32];
    (void)snprintf(rounds, sizeof(rounds), "%u of %u", recorded->result.rounds_done,
                   recorded->result.rounds_planned);
    (void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)recorded->result.seed);
    (void)fputs("<div class=\"scroll\"><table class=\"facts\">\n", out);
    const char *const lines[][2] = {{"run", recorded->result.run_id},
                                    {"directory", side->path},
                                    {"measured by", recorded->version},
                                    {"commit", recorded->commit},
                                    {"status", side->about->status},
                                    {"started", side->about->started},
                                    {"ended", side->about->ended},
                                    {"rounds", rounds},
                                    {"seed", seed}};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (lines[i][1] && lines[i][1][0])
            print_line(lines[i][0], lines[i][1], out);
    (void)fputs("</table></div>\n", out);
}
