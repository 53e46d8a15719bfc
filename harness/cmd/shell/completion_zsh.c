/* Completion for zsh: one _arguments per command. */
#include "harness/cmd/common/help.h"
#include "harness/cmd/shell/offer.h"

/* A description for zsh, within single quotes. */
static void print_text(const char *text, FILE *out)
{
    for (; *text; text++)
        if (*text == '\'')
            (void)fprintf(out, "'\\''");
        else
            completion_quote((const char[]){*text, '\0'}, "\\[]:", out);
}

static void print_action(const struct cmd_env *env, enum offer offer, const struct opt *opt,
                         FILE *out)
{
    if (offer == OFFER_DIRS)
        (void)fprintf(out, "_files -/");
    else if (offer == OFFER_FILES)
        (void)fprintf(out, "_files");
    else if (offer_is_list(offer))
        (void)fprintf(out, "_values -s , %s ", offer == OFFER_PLACEMENTS ? "placement" : "word");
    else if (offer != OFFER_NOTHING)
        (void)fprintf(out, "(");
    offer_print(env, offer, opt, out);
    if (offer == OFFER_NOTHING)
        (void)fputc(' ', out);
    else if (offer != OFFER_DIRS && offer != OFFER_FILES && !offer_is_list(offer))
        (void)fputc(')', out);
}

/* '(-n --workers)'{-n+,--workers=}'[help]:N: '; for a flag without "+", "=" and ":N: ". */
static void print_option(const struct cmd_env *env, const struct opt *opt, const char *action,
                         FILE *out)
{
    bool flag = opt->kind == OPT_FLAG;
    (void)fprintf(out, "            ");
    if (action || (opt->kind == OPT_TEXTS && opt->letter))
        (void)fprintf(out, "'*'{-%c+,--%s=}'[", opt->letter, opt->name);
    else if (opt->letter)
        (void)fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", opt->letter, opt->name, opt->letter,
                      flag ? "" : "+", opt->name, flag ? "" : "=");
    else
        (void)fprintf(out, "'--%s%s[", opt->name, flag ? "" : "=");
    print_text(opt->help, out);
    (void)fputc(']', out);
    if (!flag) {
        (void)fputc(':', out);
        print_text(opt->arg, out);
        (void)fputc(':', out);
        if (action)
            (void)fprintf(out, "%s", action);
        else
            print_action(env, offer_of_option(opt), opt, out);
    }
    (void)fprintf(out, "' \\\n");
}

static void print_command(const struct cmd_env *env, const struct command *command, FILE *out)
{
    (void)fprintf(out, "    (%s)\n        _arguments \\\n", command->name);
    for (const struct opt *opt = opts_shown(command->opts); opt; opt = opts_shown(opt + 1))
        print_option(env, opt, NULL, out);
    if (command->takes_params)
        print_option(env, help_param_option, "_contend_pairs", out);
    if (command->operands) {
        (void)fprintf(out, "            '*:");
        print_text(command->operands, out);
        (void)fputc(':', out);
        print_action(env, offer_of_command(command), NULL, out);
        (void)fprintf(out, "' \\\n");
    }
    (void)fprintf(out, "            '(- *)'{-h,--help,--help-all}'[show help]'\n        ;;\n");
}

/* (run) names=(pipeline ...) target=pipeline ;; */
static void print_targets(const struct cmd_env *env, const struct command *command, FILE *out)
{
    enum offer offer = offer_of_command(command);
    (void)fprintf(out, "    (%s) names=(", command->name);
    offer_print(env, offer, NULL, out);
    (void)fprintf(out, ") target=%s ;;\n", offer_name(env, offer, NULL, 0));
}

static void print_pairs(const struct cmd_env *env, const struct command *command, FILE *out)
{
    enum offer offer = offer_of_command(command);
    const char *name;
    for (size_t i = 0; (name = offer_name(env, offer, NULL, i)) != NULL; i++) {
        (void)fprintf(out, "    (%s/%s) compadd -S '' --", command->name, name);
        offer_print_pairs(env, offer, name, out);
        (void)fprintf(out, " ;;\n");
    }
}

static void print_measuring(const struct cmd_env *env, FILE *out,
                            void (*print)(const struct cmd_env *, const struct command *, FILE *))
{
    (void)fprintf(out, "    case $command%s in\n", print == print_pairs ? "/$target" : "");
    for (const struct command *const *c = command_table; *c; c++)
        if ((*c)->takes_params)
            print(env, *c, out);
    (void)fprintf(out, "    esac\n");
}

void completion_print_zsh(const struct cmd_env *env, FILE *out)
{
    (void)fprintf(out, "#compdef contend\n"
                       "# Completion of contend for zsh. Made by 'contend completion zsh'.\n\n"
                       "# The parameters of what the line names.\n_contend_pairs()\n{\n"
                       "    local word target\n    local -a names\n");
    print_measuring(env, out, print_targets);
    (void)fprintf(out, "    for word in $words; do\n"
                       "        (( ! ${names[(Ie)$word]} )) || target=$word\n    done\n");
    print_measuring(env, out, print_pairs);
    (void)fprintf(out, "}\n\n_contend()\n{\n    local -a commands\n    commands=(\n");
    for (const struct command *const *c = command_table; *c; c++) {
        (void)fprintf(out, "        '%s:", (*c)->name);
        print_text((*c)->summary, out);
        (void)fprintf(out, "'\n");
    }
    (void)fprintf(out, "    )\n    if (( CURRENT == 2 )); then\n"
                       "        _describe command commands\n        return\n    fi\n"
                       "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
                       "    # What help names is completed as that command is.\n"
                       "    if [[ $command == help ]] && (( CURRENT > 2 )); then\n"
                       "        command=$words[2]\n        shift words\n"
                       "        (( CURRENT-- ))\n    fi\n"
                       "    case $command in\n");
    for (const struct command *const *c = command_table; *c; c++)
        print_command(env, *c, out);
    (void)fprintf(out, "    esac\n}\n\n"
                       "# As a file that zsh found for us, or one that was sourced.\n"
                       "if [[ $funcstack[1] == _contend ]]; then\n    _contend \"$@\"\nelse\n"
                       "    compdef _contend contend\nfi\n");
}
