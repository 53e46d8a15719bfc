#include "harness/cmd/common/cmd.h"

#include <errno.h>
#include <string.h>

#include "harness/cmd/common/named.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"

/* -EINVAL unless the command takes operands; `word` is the first. */
static int check_word(const struct command *command, const char *word, struct err *err)
{
    if (command->word_option)
        return err_set(err, -EINVAL,
                       "unexpected argument '%.80s'; a process is named by its number, as in --%s "
                       "%.80s",
                       word, command->word_option,
                       word[strspn(word, "0123456789")] ? "4711" : word);
    if (!command->operands)
        return err_set(err, -EINVAL, "unexpected argument '%.80s'; see 'contend %s --help'", word,
                       command->name);
    if (strstr(command->operands, "[--"))
        return err_set(err, -EINVAL,
                       "unexpected argument '%.80s'; a command goes after '--', as in 'contend %s "
                       "-- %.80s'",
                       word, command->name, word);
    return 0;
}

bool cmd_parse(const struct cmd_env *env, const struct command *command, int argc, char **argv,
               void *args, struct cli *cli, int *code)
{
    struct err err;
    int rc = cli_parse(command->opts, command->takes_params, argc, argv, args, cli, &err);
    if (!rc && cli->help) {
        help_print_command(env, command, cli->help_all);
        *code = cmd_finish();
        return false;
    }
    if (!rc && cli->npositional)
        rc = check_word(command, cli->positional[0], &err);
    if (rc)
        log_error("%s", err.msg);
    *code = EXIT_USAGE;
    return !rc;
}

enum exit_code cmd_not_measured(int rc)
{
    return rc == -EINTR ? EXIT_INTERRUPTED : EXIT_NOT_RUN;
}

int cmd_worse(int one, int other)
{
    int most = one > other ? one : other, least = one > other ? other : one;
    return most == EXIT_INCONCLUSIVE && least ? least : most;
}

int cmd_finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_GOOD;
    log_error("cannot write to stdout: %s", strerror(errno));
    return EXIT_NOT_RUN;
}

int cmd_print_json(json_t *json, int indent)
{
    struct err err;
    if (json_value_print(json, indent, &err) == 0)
        return cmd_finish();
    log_error("%s", err.msg);
    return EXIT_NOT_RUN;
}

enum { EXAMPLE_COLUMN = 46 };

const struct opt help_param_option[] = {
    {
        .name = "param",
        .kind = OPT_TEXT,
        .arg = "NAME=VALUE",
        .help = "Parameter of what is measured; the help of a scenario or benchmark lists them",
        .letter = 'p',
        .group = "Parameters",
    },
    {.name = NULL},
};

const char help_about[] =
    "Reproduces, measures and explains contention between CPU-heavy workers that feed GPUs, and "
    "shows which placement removes it.";

const struct help_exit_code help_exit_codes[] = {
    {EXIT_GOOD, "good"},
    {EXIT_VERDICT, "a verdict failed: a check of validate, or what --fail-on names"},
    {EXIT_USAGE, "usage or bad input"},
    {EXIT_NOT_RUN, "something did not run, or nothing could be measured"},
    {EXIT_INCONCLUSIVE, "inconclusive; with --strict: the machine was too busy"},
    {EXIT_INTERRUPTED, "interrupted; finished rounds are kept"},
    {.meaning = NULL},
};

static void print_about(const char *text)
{
    (void)putchar('\n');
    text_wrap(text, 0, 0, stdout);
}

static void print_first_sentence(const char *text)
{
    const char *first = str_fmt("%s", text);
    char *end = strstr(first, ". ");
    if (end)
        end[1] = '\0';
    print_about(first);
}

static void print_scenarios(const struct cmd_env *env, const struct command *command)
{
    const char *names = "";
    for (const struct scenario *s = env->scenarios; s->name; s++)
        if (!command->is_task || named_is_task(env, s))
            str_add(&names, ", ", "%s", s->name);
    if (strstr(command->operands, "| all"))
        str_add(&names, ", ", "all");
    (void)printf("\nScenarios ('contend run NAME --help' has the parameters of one):\n");
    text_wrapped(stdout, 2, 2, "%s", names);
}

/* Prints one line with the family of benchmark `at`. Returns the index after that family. */
static size_t print_family(const struct cmd_env *env, size_t at)
{
    const char *label = "", *names = "";
    const char *family = env->families ? env->families[at] : "";
    label = str_fmt("  %s", family);
    for (; env->benches[at] && (!env->families || strcmp(env->families[at], family) == 0); at++)
        str_add(&names, " ", "%s", env->benches[at]->name);
    text_field(12, label, "%s", names);
    return at;
}

static void print_benches(const struct cmd_env *env)
{
    (void)printf("\nBenchmarks ('contend bench NAME --help' has the parameters of one):\n");
    for (size_t at = 0; env->benches[at];)
        at = print_family(env, at);
}

const char *help_format_usage(const struct command *command)
{
    const char *operands = command->operands ? command->operands : "";
    const char *gap = operands[0] ? " " : "", *options = command->opts ? " [options]" : "";
    const char *params = command->takes_params ? " [-p NAME=VALUE]..." : "";
    if (strstr(operands, "--")) /* options must precede it */
        return str_fmt("contend %s%s%s%s%s", command->name, options, params, gap, operands);
    return str_fmt("contend %s%s%s%s%s", command->name, gap, operands, options, params);
}

/* Prints options up to a level below their headings. `heading`: the last one printed, or "". */
static const char *print_options(const struct opt *opts, enum opt_level most, const char *heading)
{
    const char *group = "Options";
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        group = opt->group ? opt->group : group;
        if (opt->level > most)
            continue;
        if (strcmp(group, heading) != 0)
            (void)printf("%s:\n", group);
        heading = group;
        opt_print_help(opt, "--", most, stdout);
    }
    return heading;
}

static void print_examples(const struct command *command)
{
    if (command->examples[0].line)
        (void)printf("\nExamples:\n");
    for (const struct example *e = command->examples; e->line; e++) {
        int column = printf("  %-*s", EXAMPLE_COLUMN - 4, e->line);
        text_wrap(e->text, column + printf("  "), EXAMPLE_COLUMN, stdout);
    }
}

void help_print_command(const struct cmd_env *env, const struct command *command, bool all)
{
    const enum opt_level most = all ? OPT_RARE : OPT_COMMON;
    text_wrap(help_format_usage(command), printf("usage: "), 7, stdout);
    if (all)
        print_about(command->about);
    else
        print_first_sentence(command->about);
    if (command->operands && strstr(command->operands, "SCENARIO"))
        print_scenarios(env, command);
    if (command->operands && strstr(command->operands, "BENCH"))
        print_benches(env);
    if (command->opts)
        (void)putchar('\n');
    const char *heading = print_options(command->opts, most, "");
    if (command->takes_params)
        (void)print_options(help_param_option, most, heading);
    print_examples(command);
    if (!all && command->opts)
        (void)printf("\n'contend %s --help-all' has all options.\n", command->name);
}

static void print_parameters(const struct bench *bench)
{
    if (!bench->opts) {
        (void)printf("\n%s has no parameters.\n", bench->name);
        return;
    }
    (void)printf("\nParameters of %s (-p NAME=VALUE):\n", bench->name);
    for (const struct opt *opt = opts_shown(bench->opts); opt; opt = opts_shown(opt + 1))
        opt_print_help(opt, "", OPT_RARE, stdout);
}

static void print_where_options_are(const char *command)
{
    (void)printf("\n'contend %s --help' shows the options.\n", command);
}

void help_print_bench(const struct bench *bench)
{
    (void)printf("usage: contend bench %s [options] [-p NAME=VALUE]...\n", bench->name);
    print_about(bench->summary);
    print_parameters(bench);
    print_where_options_are("bench");
}

static void print_doses(const struct scenario *scenario)
{
    (void)putchar('\n');
    text_wrapped(stdout, 0, 0,
                 "It measures placements %s under each dose of %s, the share of each CPU's time "
                 "that other work takes. --placement and --dose change these lists.",
                 scenario->parts->placements, scenario->doses);
}

/* True if some part runs as many workers as the user says, and so compares placements. */
static bool shares_machine(const struct scenario *scenario)
{
    const struct scenario_part *part = scenario->parts;
    while (part->foreground && part->workers)
        part++;
    return part->foreground;
}

static void print_scenario_examples(const struct scenario *scenario)
{
    const char *plain = str_fmt("contend run %s", scenario->name);
    struct command command = {.examples = {{plain, "its defaults"}}};
    const char *more =
        str_fmt("%s %s", plain, scenario->doses ? "--dose cpu=10,30%" : "-P none,sized");
    if (scenario->doses)
        command.examples[1] = (struct example){more, "other doses"};
    else if (shares_machine(scenario))
        command.examples[1] = (struct example){more, "two placements"};
    print_examples(&command);
}

void help_print_scenario(const struct cmd_env *env, const struct command *command,
                         const struct scenario *scenario)
{
    (void)printf("usage: contend %s %s [options] [-p NAME=VALUE]...\n", command->name,
                 scenario->name);
    print_about(scenario->summary);
    if (scenario->doses)
        print_doses(scenario);
    for (const struct scenario_part *part = scenario->parts; part->foreground; part++) {
        const struct bench *bench = bench_find(env->benches, part->foreground);
        bool again = scenario_repeats(scenario, part);
        if (bench && bench->opts && !again)
            print_parameters(bench);
        if (part->params)
            (void)printf(again ? "  and measures it again with %s, the rest by default\n"
                               : "  this scenario sets %s\n",
                         part->params);
    }
    if (command == &run_command)
        print_scenario_examples(scenario);
    print_where_options_are(command->name);
}
