/* Completion for bash: one case for operands, one for values of options, one for parameters. */
#include "harness/cmd/common/help.h"
#include "harness/cmd/shell/offer.h"

/* "--rows" and "-r", each after the prefix `before`, separated by `between`. */
static void print_names(const struct opt *opt, const char *before, const char *between, FILE *out)
{
    (void)fprintf(out, "%s--%s", before, opt->name);
    if (opt->letter)
        (void)fprintf(out, "%s%s-%c", between, before, opt->letter);
}

static void print_option_names(const struct opt *opts, FILE *out)
{
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        print_names(opt, "", " ", out);
        (void)fputc(' ', out);
    }
}

static const char *way_of(enum offer offer)
{
    return offer == OFFER_DIRS    ? "dirs"
           : offer == OFFER_FILES ? "files"
           : offer_is_list(offer) ? "list"
                                  : "words";
}

/* run) options='--workers -n ...' way=words words='pipeline ...' ;; */
static void print_command(const struct cmd_env *env, const struct command *command, FILE *out)
{
    enum offer offer = offer_of_command(command);
    (void)fprintf(out, "    %s)\n        options='", command->name);
    print_option_names(command->opts, out);
    if (command->takes_params)
        print_option_names(help_param_option, out);
    (void)fprintf(out, "--help --help-all -h' way=%s\n        words='", way_of(offer));
    offer_print(env, offer, NULL, out);
    (void)fprintf(out, "'\n        ;;\n");
}

/* Prints the values of each option; a flag has none. */
static void print_values(const struct cmd_env *env, const struct command *command, FILE *out)
{
    char before[64];
    (void)snprintf(before, sizeof(before), "%s/", command->name);
    for (const struct opt *opt = opts_shown(command->opts); opt; opt = opts_shown(opt + 1)) {
        enum offer offer = offer_of_option(opt);
        if (opt->kind == OPT_FLAG)
            continue;
        (void)fprintf(out, "    ");
        print_names(opt, before, " | ", out);
        (void)fprintf(out, ") way=%s words='", way_of(offer));
        offer_print(env, offer, opt, out);
        (void)fprintf(out, "' ;;\n");
    }
    if (command->takes_params) {
        (void)fprintf(out, "    ");
        print_names(help_param_option, before, " | ", out);
        (void)fprintf(out, ") way=pairs words=$(_contend_pairs) ;;\n");
    }
}

static void print_pairs(const struct cmd_env *env, const struct command *command, FILE *out)
{
    enum offer offer = offer_of_command(command);
    const char *name;
    for (size_t i = 0; (name = offer_name(env, offer, NULL, i)) != NULL; i++) {
        (void)fprintf(out, "    %s/%s) echo '", command->name, name);
        offer_print_pairs(env, offer, name, out);
        (void)fprintf(out, "' ;;\n");
    }
}

static const char engine[] =
    "_contend()\n"
    "{\n"
    "    local command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1))\n"
    "    local options='' words='' way=words pair='' target='' word\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _contend_reply \"$_contend_commands\"\n"
    "        return\n"
    "    fi\n"
    "    # What help names is completed as that command is.\n"
    "    if [[ $command == help ]] && ((COMP_CWORD > 2)); then\n"
    "        command=${COMP_WORDS[2]}\n"
    "    fi\n"
    "    # Of --name=value and name=value bash makes three words.\n"
    "    if [[ $current == = ]]; then\n"
    "        current='' pair=${COMP_WORDS[at]}=\n"
    "    elif [[ ${COMP_WORDS[at]} == = ]]; then\n"
    "        at=$((at - 1))\n"
    "        pair=${COMP_WORDS[at]}=\n"
    "    fi\n"
    "    _contend_command\n"
    "    for word in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do\n"
    "        [[ \" $words \" != *\" $word \"* ]] || target=$word\n"
    "    done\n"
    "    target=${target:-${words%% *}}\n"
    "    if ! _contend_value \"${COMP_WORDS[at]}\"; then\n"
    "        if [[ -n $pair ]]; then\n"
    "            way=pairs words=$(_contend_pairs)\n"
    "        elif [[ $current == -* || $way == words && -z $words ]]; then\n"
    "            way=words words=$options\n"
    "        fi\n"
    "    fi\n"
    "    _contend_reply \"$words\"\n"
    "}\n"
    "\n"
    "# What begins as the current word does. Of a list that is its last part, of a pair the name "
    "first.\n"
    "_contend_reply()\n"
    "{\n"
    "    local word before=''\n"
    "    case $way in\n"
    "    dirs | files)\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen \"-${way:0:1}\" -- \"$current\")\n"
    "        return\n"
    "        ;;\n"
    "    list) [[ $current != *,* ]] || before=${current%,*}, ;;\n"
    "    pairs) [[ -n $pair ]] || compopt -o nospace 2>/dev/null ;;\n"
    "    esac\n"
    "    for word in $1; do\n"
    "        if [[ $way == pairs && -z $pair ]]; then\n"
    "            word=${word%%=*}=\n"
    "        elif [[ $way == pairs ]]; then\n"
    "            [[ $word == \"$pair\"* ]] || continue\n"
    "            word=${word#\"$pair\"}\n"
    "        fi\n"
    "        word=$before$word\n"
    "        [[ $word != \"$current\"* || \" ${COMPREPLY[*]} \" == *\" $word \"* ]] || "
    "COMPREPLY+=(\"$word\")\n"
    "    done\n"
    "}\n"
    "\n"
    "complete -F _contend contend\n";

void completion_print_bash(const struct cmd_env *env, FILE *out)
{
    (void)fprintf(out, "# Completion of contend for bash. Made by 'contend completion bash'.\n\n"
                       "_contend_commands='");
    offer_print(env, OFFER_COMMANDS, NULL, out);
    (void)fprintf(out, " --help --version'\n\n# The options and the operands of a command.\n"
                       "_contend_command()\n{\n    case $command in\n");
    for (const struct command *const *c = command_table; *c; c++)
        print_command(env, *c, out);
    (void)fprintf(out,
                  "    esac\n}\n\n# _contend_value OPTION: what may stand behind it; false of a "
                  "flag.\n_contend_value()\n{\n    case $command/$1 in\n");
    for (const struct command *const *c = command_table; *c; c++)
        print_values(env, *c, out);
    (void)fprintf(out, "    *) return 1 ;;\n    esac\n}\n\n# The parameters of what the line names."
                       "\n_contend_pairs()\n{\n    case $command/$target in\n");
    for (const struct command *const *c = command_table; *c; c++)
        if ((*c)->takes_params)
            print_pairs(env, *c, out);
    (void)fprintf(out, "    esac\n}\n\n%s", engine);
}
