#include "harness/validate/waivers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/array.h"
#include "harness/validate/entries.h"
#include "harness/validate/rules/rules.h"

static bool is_date(const char *text)
{
    int year, month, day, used = 0;
    return sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && used == 10 &&
           !text[10] && text[4] == '-' && text[7] == '-' && month >= 1 && month <= 12 && day >= 1 &&
           day <= 31;
}

static int take(struct entries *entries, json_t *entry)
{
    struct waivers *waivers = entries->arg;
    const char *rule = "", *unit = "", *reason = "", *until = "";
    int rc = entries_unpack(entries, entry, "{s?s, s?s, s?s, s?s !}", "rule", &rule, "unit", &unit,
                            "reason", &reason, "until", &until);
    const char *wrong = !rule_find(rule) ? "is for no rule: see 'contend validate --list'"
                        : !reason[strspn(reason, " ")] ? "has no reason"
                        : strlen(reason) >= sizeof(waivers->all->reason) ||
                                strlen(unit) >= sizeof(waivers->all->unit)
                            ? "has too long a reason or unit"
                        : !is_date(until) ? "lacks a date 'until' such as \"2026-12-31\""
                                          : NULL;
    if (rc || wrong)
        return rc ? rc : entries_refuse(entries, "the waiver of '%.31s' %s", rule, wrong);
    struct waiver *added = array_add(waivers->all, waivers->n, waivers->capacity);
    if (!added)
        return err_set(entries->err, -ENOMEM, "no memory for the waivers");
    added->line = entries->line;
    (void)snprintf(added->rule, sizeof(added->rule), "%s", rule);
    (void)snprintf(added->unit, sizeof(added->unit), "%s", unit);
    (void)snprintf(added->reason, sizeof(added->reason), "%s", reason);
    (void)snprintf(added->until, sizeof(added->until), "%s", until);
    return 0;
}

int waivers_read(const char *path, struct waivers *waivers, struct err *err)
{
    struct entries entries = {.path = path, .what = "waivers", .arg = waivers};
    *waivers = (struct waivers){0};
    int rc = entries_open(&entries, err);
    if (!rc)
        rc = entries_read(&entries, NULL, take);
    entries_close(&entries);
    return rc;
}

void waivers_free(struct waivers *waivers)
{
    free(waivers->all);
    *waivers = (struct waivers){0};
}
