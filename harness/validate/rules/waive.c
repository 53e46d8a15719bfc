#include "harness/validate/rules/waive.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "harness/lib/text.h"

/* True for characters inside a name such as "0000:3b:00.0": "GPU 1" is no word of "GPU 10". */
static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == ':' || c == '.' || c == '_';
}

static bool is_word_of(const char *subject, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(subject, word); at; at = strstr(at + 1, word))
        if ((at == subject || !is_name_char(at[-1])) && !is_name_char(at[length]))
            return true;
    return false;
}

static bool waiver_matches(const struct waiver *waiver, const struct finding *finding)
{
    return strcmp(waiver->rule, finding->id) == 0 &&
           (!waiver->unit[0] || is_word_of(finding->subject, waiver->unit));
}

/* Appends to the evidence. */
static void note(struct finding *finding, const char *what, const struct waiver *waiver)
{
    text_append(finding->evidence, sizeof(finding->evidence), "; ", "%s %s: %s", what,
                waiver->until, waiver->reason);
}

static void waive(const struct waiver *waiver, const char *today, struct finding *finding)
{
    if (strcmp(waiver->until, today) < 0) {
        note(finding, "its waiver expired on", waiver);
        return;
    }
    finding->outcome = OUTCOME_WARN;
    finding->severity = FINDING_DOUBT;
    finding->waived = true;
    note(finding, "waived until", waiver);
}

static bool is_open(const struct finding *finding)
{
    return !finding->waived &&
           (finding->outcome == OUTCOME_FAIL || finding->outcome == OUTCOME_WARN);
}

void waive_findings(const struct waivers *waivers, const char *today, struct findings *findings)
{
    for (size_t i = 0; i < findings->n; i++)
        for (size_t w = 0; w < waivers->n && is_open(&findings->all[i]); w++)
            if (waiver_matches(&waivers->all[w], &findings->all[i]))
                waive(&waivers->all[w], today, &findings->all[i]);
}
