/* contend compare --across: one placement of each side, whatever it is. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/cmd/compare.h"
#include "harness/lib/text.h"

static const char *const names[] = {"base", "new"};

static bool has(const struct runs *runs, enum placement placement)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct result *result = &runs->all[i].recorded->result;
        for (size_t arm = 0; arm < result->narms; arm++)
            if (result->arms[arm].placement == placement && !result->arms[arm].is_baseline &&
                !result->arms[arm].is_control)
                return true;
    }
    return false;
}

/* Returns how many there are; *only is the last one. `list` gets "none, sized". */
static unsigned list_placements(const struct runs *runs, enum placement *only, char *list,
                                size_t size)
{
    unsigned n = 0;
    list[0] = '\0';
    for (int placement = 0; placement < PLACEMENTS; placement++)
        if (has(runs, (enum placement)placement)) {
            n++;
            *only = (enum placement)placement;
            text_append(list, size, ", ", "%s", placement_infos[placement].name);
        }
    return n;
}

/* Parses "P" for both sides, or "BASE,NEW". */
static int parse_names(const char *text, enum placement named[2], struct err *err)
{
    const char *name;
    const char *comma = strchr(text, ',');
    for (int side = 0; side < 2; side++) {
        const char *from = side && comma ? comma + 1 : text;
        name = str_fmt("%.*s", side || !comma ? 60 : (int)(comma - text), from);
        int rc = placement_parse(name, &named[side], err);
        if (rc)
            return rc;
    }
    return 0;
}

/* The placement of each side: its only one, or the named one. -EINVAL: there are several, or none.
 */
static int choose(const struct compare_args *args, const struct runs sides[PAIRING_SIDES],
                  enum placement chosen[2], struct err *err)
{
    enum placement named[2];
    bool for_each = args->placements && strchr(args->placements, ',');
    int rc = args->placements ? parse_names(args->placements, named, err) : 0;
    for (int side = PAIRING_BASE; side <= PAIRING_OTHER && !rc; side++) {
        char list[200];
        unsigned n = list_placements(&sides[side], &chosen[side], list, sizeof(list));
        if (args->placements && (n > 1 || for_each))
            chosen[side] = named[side];
        if (n != 1 && !args->placements)
            rc = err_set(err, -EINVAL,
                         "%s has several placements (%s): name one of each side, as in '--across "
                         "--placement none,sized'",
                         names[side], list);
        else if (!n || !has(&sides[side], chosen[side]))
            rc = err_set(err, -EINVAL, "%s has no placement '%s': it has %s", names[side],
                         placement_infos[n ? chosen[side] : named[side]].name,
                         list[0] ? list : "none at all");
    }
    return rc;
}

int compare_across_fill(const struct compare_args *args, const struct runs runs[PAIRING_SIDES],
                        struct pairing_runs sides[PAIRING_SIDES], struct err *err)
{
    enum placement chosen[2];
    int rc = args->across ? choose(args, runs, chosen, err) : 0;
    for (int side = PAIRING_BASE; side <= PAIRING_OTHER && args->across && !rc; side++) {
        sides[side].placement = placement_infos[chosen[side]].name;
        if (chosen[0] != chosen[1])
            sides[side].name = sides[side].placement;
    }
    sides[PAIRING_HISTORY].placement = sides[PAIRING_BASE].placement;
    return rc;
}

/* " --metric 'rate ([0-9]+)'": the options that say what of a command is measured. */
static void add_measure(const json_t *record, const char **text)
{
    static const char *const options[] = {
        "metric", "metric-file", "unit", "less-is-better", "line", "duration", "steps-by-lines"};
    const json_t *given = json_object_get(record, "options");
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const json_t *value = json_object_get(given, options[i]);
        if (json_is_true(value))
            str_add(text, " ", "--%s", options[i]);
        else if (json_is_string(value))
            str_add(text, " ", "--%s %s", options[i], text_shell_word(json_string_value(value)));
        else if (json_number_value(value) > 0)
            str_add(text, " ", "--%s %g", options[i], json_number_value(value));
    }
}

/* The word for a shell; a long one is not shown. */
static const char *shown(const char *word)
{
    enum { MOST = 400 };
    const char *quoted = text_shell_word(word);
    return strlen(quoted) < MOST ? quoted : "...";
}

/* The parameters that are not at their default, as they were typed, and the user's command. */
static void add_words(const json_t *record, const char **text)
{
    const json_t *words = json_object_get(record, "command");
    bool is_user = false;
    for (size_t i = 1; i < json_array_size(words); i++) {
        const char *typed = json_string_value(json_array_get(words, i));
        const char *before = json_string_value(json_array_get(words, i - 1));
        bool is_param = !strcmp(before, "-p");
        is_user = is_user || !strcmp(typed, "--");
        if (!is_param && !is_user)
            continue;
        str_add(text, " ", "%s%s", is_user ? "" : "-p ", shown(typed));
    }
}

/* The ab that measures both placements in the same rounds. */
static const char *format_ab(const struct runs sides[PAIRING_SIDES], const enum placement chosen[2])
{
    const struct recorded *recorded = sides[PAIRING_BASE].all[0].recorded;
    const struct result *result = &recorded->result;
    bool is_command = result->narms && result->arms[0].bench->runs_command;
    char options[PLAN_OPTIONS_MAX];
    const char *text = "contend ab";
    if (!is_command)
        str_add(&text, " ", "%s", result->scenario);
    unsigned workers = result_next_workers(result, 0);
    if (workers && !result_next_workers(result, workers))
        str_add(&text, " ", "-n %u", workers);
    for (int side = 0; side < 2; side++)
        str_add(&text, " ", "-V %s=placement:%s", placement_infos[chosen[side]].name,
                placement_infos[chosen[side]].name);
    str_add(&text, "", "%s", plan_options_format(&result->plan, options, sizeof(options)));
    if (is_command)
        add_measure(recorded->record, &text);
    add_words(recorded->record, &text);
    return text;
}

static const char *format_across(const struct cli *cli, size_t nbase)
{
    const char *text = "contend compare --across";
    for (size_t i = 0; i < cli->npositional; i++)
        str_add(&text, " ", "%s%s", i == nbase && cli->npositional > 2 ? "-- " : "",
                shown(cli->positional[i]));
    return text;
}

void compare_across_advise(const struct comparisons *comparisons,
                           const struct runs sides[PAIRING_SIDES], const struct cli *cli,
                           size_t nbase, struct findings *findings)
{
    enum placement chosen[2];
    char list[2][120];
    struct finding finding = {.id = "rows_apart", .severity = FINDING_NOTE};
    if (!comparisons->apart[0])
        return;
    bool single = true;
    for (int side = 0; side < 2; side++)
        single =
            list_placements(&sides[side], &chosen[side], list[side], sizeof(list[side])) == 1 &&
            single;
    if (!comparisons->apart_by_placement)
        text_set(finding.sentence, "Options differ: %s. Rows of other options are not compared.",
                 comparisons->apart);
    else if (single) {
        text_set(finding.command, "%s", format_across(cli, nbase));
        text_set(finding.sentence,
                 "Placements differ: %s in base, %s in new. Compare the results across them, or "
                 "measure both in the same rounds: %s",
                 list[0], list[1], format_ab(sides, chosen));
    } else
        text_set(finding.sentence,
                 "Placements differ: %s in base, %s in new. To compare one of each, add '--across "
                 "--placement BASE,NEW'.",
                 list[0], list[1]);
    findings_put(findings, &finding);
}
