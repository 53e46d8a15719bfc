/* Completion for fish: one `complete` for each name. */

#include "harness/cmd/common/help.h"
#include "harness/cmd/shell/offer.h"

static void print_text(const char *text, FILE *out)
{
    (void)fputc('\'', out);
    completion_quote(text, "\\'", out);
    (void)fputc('\'', out);
}

/* Each `complete` of a command begins like this. */
static void begin(const struct command *command, FILE *out)
{
    (void)fprintf(out, "complete -c contend -n '__fish_seen_subcommand_from %s'", command->name);
}

/* " -a 'none sized'": the possible values. */
static void print_offer(const struct cmd_env *env, enum offer offer, const struct opt *opt,
                        FILE *out)
{
    if (offer == OFFER_NOTHING)
        return;
    if (offer == OFFER_DIRS) {
        (void)fprintf(out, " -a '(__fish_complete_directories)'");
        return;
    }
    bool list = offer_is_list(offer);
    (void)fprintf(out, list ? " -a '(__fish_complete_list , \"string split \\' \\' \\'" : " -a '");
    offer_print(env, offer, opt, out);
    (void)fprintf(out, list ? "\\'\")'" : "'");
}

static void print_option(const struct cmd_env *env, const struct command *command,
                         const struct opt *opt, const char *values, FILE *out)
{
    enum offer offer = offer_of_option(opt);
    begin(command, out);
    (void)fprintf(out, " -l %s", opt->name);
    if (opt->letter)
        (void)fprintf(out, " -s %c", opt->letter);
    if (opt->kind != OPT_FLAG)
        (void)fprintf(out, offer == OFFER_FILES ? " -r -F" : " -x");
    if (values)
        (void)fprintf(out, " -a '(%s)'", values);
    else if (offer != OFFER_FILES)
        print_offer(env, offer, opt, out);
    (void)fprintf(out, " -d ");
    print_text(opt->help, out);
    (void)fputc('\n', out);
}

static void print_command(const struct cmd_env *env, const struct command *command, FILE *out)
{
    (void)fprintf(out, "\ncomplete -c contend -n __fish_use_subcommand -a %s -d ", command->name);
    print_text(command->summary, out);
    (void)fputc('\n', out);
    if (command->operands) {
        begin(command, out);
        print_offer(env, offer_of_command(command), NULL, out);
        (void)fputc('\n', out);
    }
    for (const struct opt *opt = opts_shown(command->opts); opt; opt = opts_shown(opt + 1))
        print_option(env, command, opt, NULL, out);
    if (command->takes_params)
        print_option(env, command, help_param_option, "__contend_pairs", out);
}

/* Prints code that finds the last of these names on the line and offers its parameters. */
static void print_pairs(const struct cmd_env *env, const struct command *command, FILE *out)
{
    enum offer offer = offer_of_command(command);
    const char *name;
    (void)fprintf(out,
                  "    if contains -- %s $words\n        set -l target %s\n"
                  "        for word in $words\n            contains -- $word ",
                  command->name, offer_name(env, offer, NULL, 0));
    offer_print(env, offer, NULL, out);
    (void)fprintf(out, "; and set target $word\n        end\n        switch $target\n");
    for (size_t i = 0; (name = offer_name(env, offer, NULL, i)) != NULL; i++) {
        (void)fprintf(out, "            case %s\n                string join \\n --", name);
        offer_print_pairs(env, offer, name, out);
        (void)fputc('\n', out);
    }
    (void)fprintf(out, "        end\n    end\n");
}

void completion_print_fish(const struct cmd_env *env, FILE *out)
{
    (void)fprintf(out, "# Completion of contend for fish. Made by 'contend completion fish'.\n\n"
                       "# The parameters of what the line names.\nfunction __contend_pairs\n"
                       "    set -l words (commandline -opc)\n");
    for (const struct command *const *c = command_table; *c; c++)
        if ((*c)->takes_params)
            print_pairs(env, *c, out);
    (void)fprintf(out, "end\n\ncomplete -c contend -f\ncomplete -c contend -s h -l help -d 'show "
                       "help'\ncomplete -c contend -l help-all -d 'show all options'\n");
    for (const struct command *const *c = command_table; *c; c++)
        print_command(env, *c, out);
}
