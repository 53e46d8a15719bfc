#include "harness/engine/contract/command.h"

#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/opt.h"
#include "harness/lib/text.h"

/* What crosses exec besides argv, as options of a command line. */
struct exec_options {
    struct command_options options;
    const char *output;
    bool sets_threads;
    struct opt_texts env;
};

static const struct opt exec_option_table[] = {
    COMMAND_OPTIONS(exec_options, options),
    OPT_TEXT("output", exec_options, output, NULL, "PATH", "the file for its output"),
    OPT_TEXTS("env", exec_options, env, "VAR=VALUE", "set in its environment"),
    OPT_FLAG("sets-threads", exec_options, sets_threads, NULL, "OMP_NUM_THREADS is set"),
    {.name = NULL},
};
enum { EXEC_OPTIONS = sizeof(exec_option_table) / sizeof(exec_option_table[0]) - 1 };

const char *command_bench_name(const struct command_options *options)
{
    if (options->by_lines)
        return "command_lines";
    if (options->metric || options->metric_file)
        return options->less_is_better ? "command_cost" : "command_metric";
    return "command";
}

const char *command_rate_unit(const struct command_options *options)
{
    if (!options->unit)
        return NULL;
    return str_fmt("%s%s", options->less_is_better ? "1/" : "", options->unit);
}

/* Tables, figures and pages escape the unit; the check keeps control characters off a terminal. */
static int check_unit(const struct command_options *options, struct err *err)
{
    enum { MOST = COMMAND_UNIT_MAX - sizeof("1/") };
    const char *unit = options->unit;
    if (!unit)
        return 0;
    if (!options->metric && !options->metric_file)
        return err_set(err, -EINVAL, "--unit needs --metric or --metric-file");
    size_t n = 0;
    while (n <= MOST && unit[n] >= ' ' && unit[n] <= '~')
        n++;
    if (!n || n > MOST || unit[n])
        return err_set(err, -EINVAL,
                       "option '--unit': a unit is 1 to %d printable ASCII characters, such as "
                       "images/s",
                       (int)MOST);
    return 0;
}

/* What other dialects know, and regcomp takes for something else; what to write instead, outside
 * and inside brackets. NULL: known there. */
static const struct foreign {
    const char *text, *outside, *inside;
} foreigns[] = {
    {"\\d", "[0-9]", "0-9"},
    {"\\D", "[^0-9]", "a list without digits"},
    {"\\w", NULL, "[:alnum:]_"},
    {"\\s", NULL, "[:space:]"},
    {"\\t", "[[:blank:]]", "[:blank:]"},
    {"(?", "( ) around the number alone", NULL},
};

/* The first of them; *inside: it is in brackets. NULL = there is none. */
static const struct foreign *find_foreign(const char *text, bool *inside)
{
    *inside = false;
    for (const char *at = text; *at; at++) {
        for (size_t i = 0; i < sizeof(foreigns) / sizeof(foreigns[0]); i++)
            if (!strncmp(at, foreigns[i].text, 2) &&
                (*inside ? foreigns[i].inside : foreigns[i].outside))
                return &foreigns[i];
        if (!*inside && *at == '\\' && at[1])
            at++;
        else if (!*inside && *at == '[') {
            *inside = true;
            at += at[1] == '^';
            at += at[1] == ']'; /* as the first it is a member */
        } else if (*inside && *at == '[' && at[1] == ':') {
            const char *end = strstr(at + 2, ":]");
            at = end ? end + 1 : at;
        } else if (*at == ']')
            *inside = false;
    }
    return NULL;
}

int command_check_expression(const char *option, const char *text, bool groups, struct err *err)
{
    regex_t regex;
    char why[120];
    bool inside;
    const struct foreign *foreign = text ? find_foreign(text, &inside) : NULL;
    if (foreign)
        return err_set(err, -EINVAL,
                       "option '--%s': '%s' in '%.80s' is not in POSIX's extended expressions: "
                       "write %s",
                       option, foreign->text, text, inside ? foreign->inside : foreign->outside);
    int rc = text ? regcomp(&regex, text, REG_EXTENDED) : 0;
    if (!text)
        return 0;
    if (rc) {
        (void)regerror(rc, &regex, why, sizeof(why));
        return err_set(err, -EINVAL, "option '--%s': '%.80s' is no regular expression: %s", option,
                       text, why);
    }
    size_t n = regex.re_nsub;
    regfree(&regex);
    if (groups && n != 1)
        return err_set(err, -EINVAL,
                       "option '--%s': '%.80s' has %zu groups; put the number, and nothing else, "
                       "into brackets, as in 'rate: ([0-9.]+)'",
                       option, text, n);
    return 0;
}

int command_check(const struct command_options *options, struct err *err)
{
    bool metric = options->metric || options->metric_file;
    if (options->by_lines && metric)
        return err_set(err, -EINVAL, "--steps-by-lines and --metric: one of them");
    if (options->line && !options->by_lines)
        return err_set(err, -EINVAL, "--line needs --steps-by-lines");
    if (options->less_is_better && !metric)
        return err_set(err, -EINVAL, "--less-is-better needs --metric or --metric-file");
    if (options->duration_s > 0 && !metric && !options->by_lines)
        return err_set(err, -EINVAL,
                       "--duration says how long a run takes, so that there is no time to compare: "
                       "add --metric, --metric-file or --steps-by-lines");
    int rc = check_unit(options, err);
    if (!rc)
        rc = command_check_expression("metric", options->metric, true, err);
    return rc ? rc : command_check_expression("line", options->line, false, err);
}

static bool is_default(const struct opt *opt, const struct exec_options *exec_options)
{
    const char *field = (const char *)exec_options + opt->offset;
    if (opt->kind == OPT_TEXT)
        return !*(const char *const *)(const void *)field;
    if (opt->kind == OPT_TEXTS) /* command_words writes these, one word each */
        return true;
    if (opt->kind == OPT_SECONDS)
        return !opt->def && *(const double *)(const void *)field <= 0;
    return opt->kind == OPT_FLAG && !*(const bool *)(const void *)field;
}

/* "--duration=3"; a text is never cut. NULL: out of memory. */
static char *format_exec_option(const struct opt *opt, const struct exec_options *exec_options)
{
    char *word = NULL;
    const char *value = opt_format_value(opt, exec_options);
    if (opt->kind == OPT_SECONDS)
        value = str_fmt("%.17g",
                        *(const double *)(const void *)((const char *)exec_options + opt->offset));
    return asprintf(&word, "--%s=%s", opt->name, value) < 0 ? NULL : word;
}

char **command_words(const struct user_command *command, size_t first)
{
    const struct exec_options exec_options = {command->options, command->output,
                                              command->sets_threads, command->env};
    size_t n = 0, used = first;
    while (command->argv[n])
        n++;
    char **words = calloc(first + EXEC_OPTIONS + exec_options.env.n + n + 2, sizeof(*words));
    bool all = words != NULL;
    for (size_t i = 0; all && i < EXEC_OPTIONS; i++)
        if (!is_default(&exec_option_table[i], &exec_options))
            all =
                (words[used++] = format_exec_option(&exec_option_table[i], &exec_options)) != NULL;
    for (size_t i = 0; all && i < exec_options.env.n; i++)
        all = asprintf(&words[used++], "--env=%s", exec_options.env.text[i]) >= 0;
    if (all)
        all = (words[used++] = strdup("--")) != NULL;
    for (size_t i = 0; all && i < n; i++)
        all = (words[used++] = strdup(command->argv[i])) != NULL;
    if (all)
        return words;
    command_words_free(words, first);
    return NULL;
}

void command_words_free(char **words, size_t first)
{
    for (size_t i = first; words && words[i]; i++)
        free(words[i]);
    free((void *)words);
}

int command_read(int argc, char **argv, struct user_command *command, struct err *err)
{
    struct exec_options exec_options = {0};
    struct cli cli;
    int end = 0;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    if (end >= argc - 1)
        return err_set(err, -EINVAL, "no command after '--'");
    /* cli_parse expects the program's name before the options, and skips it. */
    int rc = cli_parse(exec_option_table, false, end + 1, argv - 1, &exec_options, &cli, err);
    *command = (struct user_command){.options = exec_options.options,
                                     .output = exec_options.output,
                                     .sets_threads = exec_options.sets_threads,
                                     .env = exec_options.env,
                                     .argv = argv + end + 1};
    return rc;
}

/* Copies one word from *text to `out` and moves *text past it. -EINVAL: an open quote. */
static int take_word(const char **text, char *out)
{
    char quote = 0;
    const char *at = *text;
    for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
        bool escapes =
            *at == '\\' && at[1] && (!quote || (quote == '"' && (at[1] == '"' || at[1] == '\\')));
        if (escapes)
            *out++ = *++at;
        else if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            *out++ = *at;
    }
    *out = '\0';
    *text = at;
    return quote ? -EINVAL : 0;
}

char **command_split(const char *text, struct err *err)
{
    size_t length = strlen(text), n = 0;
    char **words = calloc(length / 2 + 2, sizeof(*words));
    int rc = words ? 0 : -ENOMEM;
    for (const char *at = text; !rc; n++) {
        while (isspace((unsigned char)*at))
            at++;
        if (!*at)
            break;
        words[n] = malloc(length + 1);
        rc = words[n] ? take_word(&at, words[n]) : -ENOMEM;
    }
    if (!rc && !n)
        rc = -EINVAL;
    if (!rc)
        return words;
    command_words_free(words, 0);
    (void)err_set(err, rc,
                  rc == -ENOMEM ? "no memory for the command '%.80s'"
                  : n           ? "command '%.80s': a quote is not closed"
                                : "command '%.80s' is empty",
                  text);
    return NULL;
}
