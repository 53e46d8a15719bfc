#include "harness/cmd/shell/offer.h"

#include <string.h>

#include "harness/cmd/common/named.h"
#include "harness/cmd/session/all.h"
#include "harness/plan/placement/plan.h"

static const char *const flag_values[] = {"1", "0", NULL};

static enum offer of_placeholder(const char *text)
{
    static const struct {
        const char *begins;
        enum offer offer;
    } known[] = {
        {"SCENARIO... | all", OFFER_RUNS},
        {"SCENARIO", OFFER_SCENARIOS},
        {"BENCH", OFFER_BENCHES},
        {"COMMAND", OFFER_COMMANDS},
        {"SHELL", OFFER_SHELLS},
        {"P[", OFFER_PLACEMENTS},
        {"RULE[", OFFER_RULES},
        {"FILE", OFFER_FILES},
        {"DIR", OFFER_DIRS},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(text, known[i].begins, strlen(known[i].begins)) == 0)
            return known[i].offer;
    return strcmp(text, "P") ? OFFER_NOTHING : OFFER_PLACEMENT;
}

/* The name after the last scenario is "all". */
static const char *run_name(const struct scenario *scenarios, size_t i)
{
    size_t n = 0;
    while (scenarios[n].name)
        n++;
    return i < n ? scenarios[i].name : i == n ? ALL_NAME : NULL;
}

static const char *task_name(const struct cmd_env *env, size_t i)
{
    const struct scenario *s = env->scenarios;
    for (; s->name; s++)
        if (named_is_task(env, s) && i-- == 0)
            break;
    return s->name;
}

enum offer offer_of_command(const struct command *command)
{
    const char *operands = command->operands;
    enum offer offer = operands ? of_placeholder(operands + strspn(operands, "[")) : OFFER_NOTHING;
    return offer == OFFER_SCENARIOS && command->is_task ? OFFER_TASKS : offer;
}

enum offer offer_of_option(const struct opt *opt)
{
    if (opt->choices)
        return opt->kind == OPT_CHOICE ? OFFER_CHOICES : OFFER_LIST;
    return opt->arg ? of_placeholder(opt->arg) : OFFER_NOTHING;
}

bool offer_is_list(enum offer offer)
{
    return offer == OFFER_LIST || offer == OFFER_PLACEMENTS || offer == OFFER_RULES;
}

/* The caller asks for i = 0, 1, ... up to the first NULL, so i is never beyond a table's end. */
const char *offer_name(const struct cmd_env *env, enum offer offer, const struct opt *opt, size_t i)
{
    switch (offer) {
    case OFFER_CHOICES:
    case OFFER_LIST:
        return opt->choices[i];
    case OFFER_SCENARIOS:
        return env->scenarios[i].name;
    case OFFER_RUNS:
        return run_name(env->scenarios, i);
    case OFFER_TASKS:
        return task_name(env, i);
    case OFFER_BENCHES:
        return env->benches[i] ? env->benches[i]->name : NULL;
    case OFFER_RULES:
        return env->rule_name ? env->rule_name(i) : NULL;
    case OFFER_PLACEMENT:
    case OFFER_PLACEMENTS:
        return i < PLACEMENTS ? placement_infos[i].name : NULL;
    case OFFER_COMMANDS:
        return command_table[i] ? command_table[i]->name : NULL;
    case OFFER_SHELLS:
        return completion_shells[i].name;
    case OFFER_NOTHING:
    case OFFER_FILES:
    case OFFER_DIRS:
        break;
    }
    return NULL;
}

void offer_print(const struct cmd_env *env, enum offer offer, const struct opt *opt, FILE *out)
{
    const char *name;
    for (size_t i = 0; (name = offer_name(env, offer, opt, i)) != NULL; i++)
        (void)fprintf(out, "%s%s", i ? " " : "", name);
}

static void print_pairs(const struct bench *bench, FILE *out)
{
    for (const struct opt *opt = opts_shown(bench->opts); opt; opt = opts_shown(opt + 1)) {
        const char *const none[] = {"", NULL};
        const char *const *value = opt->kind == OPT_CHOICE ? opt->choices
                                   : opt->kind == OPT_FLAG ? flag_values
                                                           : none;
        for (; *value; value++)
            (void)fprintf(out, " %s=%s", opt->name, *value);
    }
}

void offer_print_pairs(const struct cmd_env *env, enum offer offer, const char *name, FILE *out)
{
    if (offer == OFFER_BENCHES) {
        print_pairs(bench_find(env->benches, name), out);
        return;
    }
    const struct scenario *scenario = scenario_find(env->scenarios, name);
    /* "all" is no scenario, and takes no parameters. */
    for (const struct scenario_part *part = scenario ? scenario->parts : NULL;
         part && part->foreground; part++)
        if (!scenario_repeats(scenario, part))
            print_pairs(bench_find(env->benches, part->foreground), out);
}

void completion_quote(const char *text, const char *special, FILE *out)
{
    for (; *text; text++) {
        if (strchr(special, *text))
            (void)fputc('\\', out);
        (void)fputc(*text, out);
    }
}
