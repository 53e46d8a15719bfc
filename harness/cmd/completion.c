/*
 * contend completion: prints the completion script of a shell. The scripts pass the words of the
 * command line to `contend completion -- WORD...` and show what it prints: a line for each possible
 * last word, perhaps with a tab and a description, or "<files>" or "<dirs>".
 */
#include <string.h>

#include "harness/cmd/cli_main.h"
#include "harness/cmd/common/cmd.h"
#include "harness/cmd/common/named.h"
#include "harness/cmd/session/all.h"
#include "harness/lib/similar.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/plan/plan.h"

static const char script_bash[] =
    "# Completion of contend for bash. Made by 'contend completion bash'.\n"
    "_contend()\n"
    "{\n"
    "    local word words=() current=${COMP_WORDS[COMP_CWORD]}\n"
    "    # Of name=value bash makes three words.\n"
    "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD}\"; do\n"
    "        if ((${#words[@]})) && [[ $word == = || ${words[-1]} == *= ]]; then\n"
    "            words[-1]+=$word\n"
    "        else\n"
    "            words+=(\"$word\")\n"
    "        fi\n"
    "    done\n"
    "    mapfile -t COMPREPLY < <(contend completion -- \"${words[@]}\" 2>/dev/null | cut -f 1)\n"
    "    case ${COMPREPLY[*]} in\n"
    "    '<dirs>' | '<files>')\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        word=${COMPREPLY[0]}\n"
    "        mapfile -t COMPREPLY < <(compgen \"-${word:1:1}\" -- \"${current#=}\")\n"
    "        ;;\n"
    "    *=) compopt -o nospace 2>/dev/null ;;\n"
    "    *) [[ ${words[-1]} != *=* ]] || COMPREPLY=(\"${COMPREPLY[@]#\"${words[-1]%%=*}=\"}\") ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _contend contend\n";

static const char script_zsh[] =
    "#compdef contend\n"
    "# Completion of contend for zsh. Made by 'contend completion zsh'.\n"
    "_contend()\n"
    "{\n"
    "    local line\n"
    "    local -a lines names=() pairs=() described=()\n"
    "    lines=(\"${(@f)$(contend completion -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    case $lines in\n"
    "    '<dirs>') compset -P '--*='; _files -/ ;;\n"
    "    '<files>') compset -P '--*='; _files ;;\n"
    "    *)\n"
    "        for line in $lines; do\n"
    "            [[ $line == *= ]] && pairs+=($line) && continue\n"
    "            names+=(${line%%$'\\t'*})\n"
    "            described+=(\"${line/$'\\t'/  -- }\")\n"
    "        done\n"
    "        compadd -l -d described -a names\n"
    "        compadd -S '' -a pairs\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "# As a file that zsh found for us, or one that was sourced.\n"
    "if [[ $funcstack[1] == _contend ]]; then\n"
    "    _contend \"$@\"\n"
    "else\n"
    "    compdef _contend contend\n"
    "fi\n";

static const char script_fish[] =
    "# Completion of contend for fish. Made by 'contend completion fish'.\n"
    "function __contend\n"
    "    set -l words (commandline -opc)[2..] (commandline -ct)\n"
    "    set -l lines (contend completion -- $words 2>/dev/null)\n"
    "    switch \"$lines\"\n"
    "        case '<dirs>'\n"
    "            __fish_complete_directories (commandline -ct)\n"
    "        case '<files>'\n"
    "            __fish_complete_path (commandline -ct)\n"
    "        case '*'\n"
    "            string join \\n -- $lines\n"
    "    end\n"
    "end\n"
    "complete -c contend -f -a '(__contend)'\n";

static const struct {
    const char *name, *script;
} shells[] = {{"bash", script_bash}, {"zsh", script_zsh}, {"fish", script_fish}};

enum { SHELLS = sizeof(shells) / sizeof(shells[0]) };

/* What is completed. */
struct typed {
    const struct cmd_env *env;
    const struct command *command;
    const char *current; /* the last word */
    int n;               /* words behind the command, without the last */
    char **words;
    size_t kept; /* bytes of `current` before what is completed: "--wait=", "none," */
};

/* Prints a candidate if it goes on as the last word begins. */
static void offer(const struct typed *line, const char *name, const char *end, const char *about)
{
    const char *begin = line->current + line->kept;
    if (strncmp(name, begin, strlen(begin)) == 0)
        (void)printf("%.*s%s%s%s%s\n", (int)line->kept, line->current, name, end, about ? "\t" : "",
                     about ? about : "");
}

static void offer_scenarios(const struct typed *line)
{
    bool is_task = line->command->is_task;
    for (const struct scenario *s = line->env->scenarios; s->name; s++)
        if (!is_task || named_is_task(line->env, s))
            offer(line, s->name, "", NULL);
    for (size_t i = 0; line->command == &run_command && i < 3; i++)
        offer(line, ((const char *const[]){ALL_NAME, "fingerprint", "incident"})[i], "", NULL);
}

static void offer_benches(const struct typed *line)
{
    for (const struct bench *const *bench = line->env->benches; *bench; bench++)
        offer(line, (*bench)->name, "", NULL);
}

static void offer_commands(const struct typed *line)
{
    for (const struct command *const *c = command_table; *c; c++)
        offer(line, (*c)->name, "", (*c)->summary);
}

static void offer_shells(const struct typed *line)
{
    for (size_t i = 0; i < SHELLS; i++)
        offer(line, shells[i].name, "", NULL);
}

static void offer_placements(const struct typed *line)
{
    for (size_t i = 0; i < PLACEMENTS; i++)
        offer(line, placement_infos[i].name, "", NULL);
}

static void offer_rules(const struct typed *line)
{
    const char *name;
    for (size_t i = 0; line->env->rule_name && (name = line->env->rule_name(i)) != NULL; i++)
        offer(line, name, "", NULL);
}

static void offer_files(const struct typed *line)
{
    (void)line;
    (void)puts("<files>");
}

static void offer_dirs(const struct typed *line)
{
    (void)line;
    (void)puts("<dirs>");
}

/* Offers what a placeholder of a help stands for; false if that is no known name. */
static bool offer_placeholder(const struct typed *line, const char *text)
{
    static const struct {
        const char *begins;
        void (*offer)(const struct typed *line);
    } known[] = {{"SCENARIO", offer_scenarios}, {"BENCH", offer_benches},
                 {"COMMAND", offer_commands},   {"SHELL", offer_shells},
                 {"P[", offer_placements},      {"RULE[", offer_rules},
                 {"FILE", offer_files},         {"DIR", offer_dirs}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(text, known[i].begins, strlen(known[i].begins)) == 0) {
            known[i].offer(line);
            return true;
        }
    if (strcmp(text, "P") == 0)
        offer_placements(line);
    return strcmp(text, "P") == 0;
}

/* The parameters of a benchmark: "rows=", and behind a "=" the values: "wait=spin". */
static void offer_pairs(const struct typed *line, const char *bench)
{
    static const char *const flag_values[] = {"1", "0", NULL}, *const none[] = {NULL};
    const struct bench *found = bench_find(line->env->benches, bench);
    const char *equals = strchr(line->current, '=');
    for (const struct opt *opt = opts_shown(found->opts); opt; opt = opts_shown(opt + 1)) {
        const char *const *value = opt->kind == OPT_CHOICE ? opt->choices
                                   : opt->kind == OPT_FLAG ? flag_values
                                                           : none;
        struct typed values = *line;
        if (!equals) {
            offer(line, opt->name, "=", NULL);
            continue;
        }
        values.kept = (size_t)(equals + 1 - line->current);
        if (strlen(opt->name) + 1 == values.kept &&
            strncmp(opt->name, line->current, strlen(opt->name)) == 0)
            for (; *value; value++)
                offer(&values, *value, "", NULL);
    }
}

/* The parameters of the scenario or benchmark that the line names last, by default the first. */
static void offer_params(const struct typed *line)
{
    const struct scenario *scenario = NULL;
    for (int i = line->n - 1; i >= 0 && !scenario; i--) {
        if (line->command == &bench_command && bench_find(line->env->benches, line->words[i])) {
            offer_pairs(line, line->words[i]);
            return;
        }
        scenario = scenario_find(line->env->scenarios, line->words[i]);
    }
    if (line->command == &bench_command)
        return;
    scenario = scenario ? scenario : line->env->scenarios;
    for (const struct scenario_part *part = scenario->parts; part && part->foreground; part++)
        if (!scenario_repeats(scenario, part))
            offer_pairs(line, part->foreground);
}

static void offer_option_names(const struct typed *line, const struct opt *opts)
{
    const char *name;
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        name = str_fmt("--%s", opt->name);
        offer(line, name, "", opt->help);
        name = str_fmt("-%c", opt->letter);
        if (opt->letter && !line->current[1])
            offer(line, name, "", opt->help);
    }
}

static void offer_options(const struct typed *line)
{
    offer_option_names(line, line->command->opts);
    if (line->command->takes_params)
        offer_option_names(line, help_param_option);
    offer(line, "--help", "", "Show help");
    offer(line, "--help-all", "", "Show all options");
}

/* The option that takes a value and is written so: "--rounds", "-r", with `size` bytes. */
static const struct opt *find_option(const struct opt *opts, const char *text, size_t size)
{
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        bool is_long = size > 2 && strncmp(text, "--", 2) == 0 && strlen(opt->name) == size - 2 &&
                       strncmp(opt->name, text + 2, size - 2) == 0;
        if (opt->kind != OPT_FLAG &&
            (is_long || (opt->letter && size == 2 && text[0] == '-' && text[1] == opt->letter)))
            return opt;
    }
    return NULL;
}

/* Offers values of the option that is written so; false if there is no such option. */
static bool offer_values(struct typed *line, const char *option, size_t size)
{
    const struct opt *opt = find_option(line->command->opts, option, size);
    if (!opt && line->command->takes_params && find_option(help_param_option, option, size)) {
        offer_params(line);
        return true;
    }
    if (!opt)
        return false;
    const char *comma = strrchr(line->current + line->kept, ',');
    bool is_list = opt->choices ? opt->kind != OPT_CHOICE : strstr(opt->arg, "[,") != NULL;
    if (is_list && comma)
        line->kept = (size_t)(comma + 1 - line->current);
    for (size_t i = 0; opt->choices && opt->choices[i]; i++)
        offer(line, opt->choices[i], "", NULL);
    if (!opt->choices)
        (void)offer_placeholder(line, opt->arg);
    return true;
}

static void complete(const struct cmd_env *env, int n, char **words)
{
    struct typed line = {.env = env, .current = n ? words[n - 1] : ""};
    if (n <= 1) {
        offer_commands(&line);
        offer(&line, "--help", "", NULL);
        offer(&line, "--version", "", NULL);
        return;
    }
    /* What help names is completed as that command is. */
    int skip = strcmp(words[0], help_command.name) == 0 && n > 2;
    line.command = command_find(words[skip]);
    line.n = n - 2 - skip;
    line.words = words + 1 + skip;
    const char *equals = strchr(line.current, '=');
    if (!line.command)
        return;
    if (strncmp(line.current, "--", 2) == 0 && equals) {
        line.kept = (size_t)(equals + 1 - line.current);
        (void)offer_values(&line, line.current, line.kept - 1);
        return;
    }
    if (line.n && offer_values(&line, words[n - 2], strlen(words[n - 2])))
        return;
    const char *operands = line.command->operands;
    if (line.current[0] == '-' || !operands ||
        !offer_placeholder(&line, operands + strspn(operands, "[")))
        offer_options(&line);
}

static int completion_main(const struct cmd_env *env, int argc, char **argv)
{
    struct cli cli;
    int code;
    if (argc > 1 && strcmp(argv[1], "--") == 0) {
        complete(env, argc - 2, argv + 2);
        return cmd_finish();
    }
    if (!cmd_parse(env, &completion_command, argc, argv, NULL, &cli, &code))
        return code;
    if (cli.npositional != 1) {
        log_error("no shell: type 'contend completion bash', zsh or fish");
        return EXIT_USAGE;
    }
    const char *typed = cli.positional[0];
    struct similar near = similar_to(typed, strlen(typed));
    for (size_t i = 0; i < SHELLS; i++) {
        if (strcmp(shells[i].name, typed) == 0) {
            (void)fputs(shells[i].script, stdout);
            return cmd_finish();
        }
        similar_offer(&near, shells[i].name);
    }
    log_error("no completion for '%.80s'%s known: bash, zsh, fish", typed, similar_hint(&near, ""));
    return EXIT_USAGE;
}

const struct command completion_command = {
    .name = "completion",
    .main = completion_main,
    .summary = "completion of command lines for bash, zsh or fish, as a script",
    .operands = "SHELL",
    .about = "Prints the script that completes commands, options and names in bash, zsh or fish. "
             "'./contend install' installs it. To try it: source <(contend completion bash), or: "
             "contend completion fish | source",
};
