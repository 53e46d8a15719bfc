/*
 * contend man: the manual, made from the tables of the help, as roff for man(1) or as Markdown.
 * The texts in this file are only in the manual.
 */
#include <ctype.h>
#include <string.h>

#include "harness/cmd/common/cmd.h"
#include "harness/lib/text.h"
#include "harness/plan/plan.h"
#include "version.h"

struct man_options {
    bool markdown;
};

static const struct opt man_options[] = {
    OPT_FLAG("markdown", man_options, markdown, NULL, "Print Markdown instead of roff"),
    {.name = NULL},
};

/* A term and its description. term NULL ends a table. */
struct entry {
    const char *term, *text;
};

static const struct entry environment[] = {
    {"CUDA_VISIBLE_DEVICES", "The GPUs to use, as in every CUDA program."},
    {"NO_COLOR", "If set: no colours on a terminal."},
    {"CONTEND_LIBNCCL", "The file of NCCL's library, instead of the one that the loader finds."},
    {"CONTEND_CUBLASLT", "The file of cuBLASLt's library, likewise."},
    {"CONTEND_LIBNVML", "The file of NVML, the driver's library for monitoring, likewise."},
    {"CONTEND_MPI_MODULE", "The file of contend_mpi.so, the part of contend that calls MPI."},
    {"CONTEND_COMMS_PLUGIN",
     "The file of libcontend_comms.so, which NCCL loads under contend comms."},
    {"CONTEND_COMMS_DIR",
     "Where that plugin writes its logs, if NCCL_PROFILER_PLUGIN is set by hand."},
    {"CONTEND_COMMS_MAPPED",
     "0: a process copies its log to the file at intervals, instead of mapping the file."},
    {"CONTEND_COMMS_TIMING", "One collective in so many is timed on the GPU; default 64; 0: none."},
    {"CUDA_HOME", "Where CUDA is installed. If the loader does not find cuBLASLt, it is "
                  "searched there, then in CUDA_PATH, then in /usr/local/cuda."},
    {"CUDA_PATH", "Likewise."},
    {"NCCL_GRAPH_DUMP_FILE",
     "If you set it, NCCL's graphs go there, and contend comms models the order of rings."},
    {"TMPDIR",
     "The folder for temporary files of io, cgroup and comms; default /tmp, for cgroup /var/tmp."},
    {"XDG_STATE_HOME",
     "Below it, in contend/, doctor --apply keeps what undoes a change; ~/.local/state."},
    {"COLUMNS", "On a terminal: the most columns that text takes."},
    {.term = NULL},
};

enum { SHARED_MAX = 128 };

/* Output of a page. */
struct page {
    FILE *out;
    bool markdown;
};

/* Escapes prose and terms. roff: "\-" prints a minus that can be copied into a shell. Markdown:
 * escapes what looks like a tag. */
static void put_text(const struct page *page, const char *text)
{
    if (!page->markdown && (text[0] == '.' || text[0] == '\''))
        (void)fprintf(page->out, "\\&");
    for (; *text; text++)
        if (page->markdown)
            (void)fprintf(page->out, strchr("<*", *text) ? "\\%c" : "%c", *text);
        else if (*text == '\\')
            (void)fprintf(page->out, "\\e");
        else if (*text == '\'')
            (void)fprintf(page->out, "\\(aq");
        else
            (void)fprintf(page->out, *text == '-' ? "\\%c" : "%c", *text);
}

static void put_heading(const struct page *page, const char *text)
{
    (void)fprintf(page->out, page->markdown ? "\n## " : ".SH ");
    for (const char *at = text; *at; at++)
        (void)fputc(page->markdown ? *at : toupper((unsigned char)*at), page->out);
    (void)fputc('\n', page->out);
}

static void put_subheading(const struct page *page, const char *text)
{
    if (page->markdown) {
        (void)fprintf(page->out, "\n### `%s`\n", text);
        return;
    }
    (void)fprintf(page->out, ".SS ");
    put_text(page, text);
    (void)fputc('\n', page->out);
}

static void put_paragraph(const struct page *page, const char *text)
{
    if (page->markdown)
        (void)fputc('\n', page->out);
    put_text(page, text);
    (void)fputc('\n', page->out);
}

/* In Markdown an empty line precedes the first item of a list. */
static void put_item(const struct page *page, bool first, const char *term, const char *text)
{
    if (page->markdown) {
        (void)fprintf(page->out, "%s- `%s`: ", first ? "\n" : "", term);
    } else {
        (void)fprintf(page->out, ".TP\n.B ");
        put_text(page, term);
        (void)fputc('\n', page->out);
    }
    put_text(page, text);
    (void)fputc('\n', page->out);
}

static void put_entries(const struct page *page, const struct entry *entries)
{
    for (const struct entry *e = entries; e->term; e++)
        put_item(page, e == entries, e->term, e->text);
}

/* Prints the heading of options, and sets *first for the next option. */
static void put_group(const struct page *page, const char *group, bool *first)
{
    if (!page->markdown)
        (void)fprintf(page->out, ".PP\n");
    put_paragraph(page, group);
    *first = true;
}

static void put_parameters(const struct page *page, const struct opt *opts)
{
    bool first = true;
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1), first = false)
        put_item(page, first, opt_format_term(opt, ""), opt_format_help(opt, OPT_RARE));
}

/* True if a command has this option with the same placeholder and the same help. */
static bool takes(const struct command *command, const struct opt *opt)
{
    const struct opt *same = command->opts ? opts_find(command->opts, opt->name) : NULL;
    if (opt == help_param_option && command->takes_params)
        return true;
    if (!same || same->level == OPT_HIDDEN ||
        strcmp(same->arg ? same->arg : "", opt->arg ? opt->arg : "") != 0)
        return false;
    return strcmp(opt_format_help(opt, OPT_RARE), opt_format_help(same, OPT_RARE)) == 0;
}

/* "run, bench": the commands that have the option. */
static const char *takers_of(const struct opt *opt)
{
    const char *text = "";
    for (const struct command *const *c = command_table; *c; c++)
        if (takes(*c, opt))
            str_add(&text, ", ", "%s", (*c)->name);
    return text;
}

static bool is_shared(const char *takers)
{
    return strchr(takers, ',') != NULL;
}

static void put_option(const struct page *page, bool first, const struct opt *opt,
                       const char *takers)
{
    const char *help = opt_format_help(opt, OPT_RARE);
    put_item(page, first, opt_format_term(opt, "--"),
             is_shared(takers) ? str_fmt("%s. Commands: %s.", help, takers) : help);
}

/* Prints, by group, the options that only this command has. */
static void put_own_options(const struct page *page, const struct opt *opts)
{
    const char *group = "", *above = "";
    bool first = true;
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        group = opt->group ? opt->group : group;
        const char *takers = takers_of(opt);
        if (is_shared(takers))
            continue;
        if (strcmp(group, above) != 0)
            put_group(page, above = group, &first);
        put_option(page, first, opt, takers);
        first = false;
    }
}

/* Options that several commands have, each once, with its group. */
struct shared {
    size_t n;
    struct {
        const struct opt *opt;
        const char *group;
    } all[SHARED_MAX];
};

/* Adds those of which this command is the first taker. */
static void add_shared(struct shared *shared, const struct opt *opts, const char *command)
{
    const char *group = "Options";
    for (const struct opt *opt = opts_shown(opts); opt; opt = opts_shown(opt + 1)) {
        group = opt->group ? opt->group : group;
        const char *takers = takers_of(opt);
        if (!is_shared(takers) || strncmp(takers, command, strlen(command)) != 0)
            continue;
        if (shared->n < SHARED_MAX) {
            shared->all[shared->n].opt = opt;
            shared->all[shared->n++].group = group;
        }
    }
}

/* Prints them under one heading for each group, in the order in which the commands name groups. */
static void put_shared(const struct page *page, struct shared *shared)
{
    for (size_t i = 0; i < shared->n; i++) {
        const char *group = shared->all[i].group;
        bool first = true;
        if (!group)
            continue;
        put_group(page, group, &first);
        for (size_t j = i; j < shared->n; j++) {
            if (!shared->all[j].group || strcmp(shared->all[j].group, group) != 0)
                continue;
            put_option(page, first, shared->all[j].opt, takers_of(shared->all[j].opt));
            shared->all[j].group = NULL; /* printed */
            first = false;
        }
    }
}

static void put_names_of_shared(const struct page *page, const struct command *command)
{
    const char *names = "";
    for (const struct opt *opt = opts_shown(command->opts); opt; opt = opts_shown(opt + 1))
        if (is_shared(takers_of(opt)))
            str_add(&names, ", ", "--%s", opt->name);
    if (command->takes_params)
        str_add(&names, ", ", "--%s", help_param_option->name);
    if (!names[0])
        return;
    if (!page->markdown)
        (void)fprintf(page->out, ".PP\n");
    put_paragraph(page, "Shared options, explained below:");
    put_text(page, names);
    (void)fputc('\n', page->out);
}

static void put_commands(const struct page *page)
{
    struct shared shared = {0};
    put_heading(page, "Commands");
    for (const struct command *const *c = command_table; *c; c++) {
        put_subheading(page, help_format_usage(*c));
        put_paragraph(page, (*c)->about);
        put_own_options(page, (*c)->opts);
        put_names_of_shared(page, *c);
    }
    put_heading(page, "Shared options");
    put_paragraph(page, "Each entry ends with the commands that take the option.");
    for (const struct command *const *c = command_table; *c; c++)
        add_shared(&shared, (*c)->opts, (*c)->name);
    add_shared(&shared, help_param_option, "");
    put_shared(page, &shared);
}

static void put_names(const struct page *page, const struct cmd_env *env)
{
    put_heading(page, "Scenarios");
    for (const struct scenario *s = env->scenarios; s->name; s++)
        put_item(page, s == env->scenarios, s->name, s->summary);
    put_heading(page, "Placements");
    for (int p = 0; p < PLACEMENTS; p++)
        put_item(page, p == 0, placement_infos[p].name, placement_infos[p].summary);
    put_heading(page, "Benchmarks");
    put_paragraph(page, "With the parameters of each, for -p NAME=VALUE.");
    for (const struct bench *const *b = env->benches; *b; b++) {
        put_subheading(page, (*b)->name);
        put_paragraph(page, (*b)->summary);
        put_parameters(page, (*b)->opts);
    }
}

static void put_exit_codes(const struct page *page)
{
    const char *code;
    put_heading(page, "Exit status");
    for (const struct help_exit_code *e = help_exit_codes; e->meaning; e++) {
        code = str_fmt("%d", (int)e->code);
        put_item(page, e == help_exit_codes, code, e->meaning);
    }
}

static void put_examples(const struct page *page)
{
    bool first = true;
    for (const struct command *const *c = command_table; *c; c++)
        for (const struct example *e = (*c)->examples; e->line; e++, first = false)
            put_item(page, first, e->line, e->text);
}

static void put_page(const struct page *page, const struct cmd_env *env)
{
    if (page->markdown)
        (void)fprintf(page->out, "# contend: all commands, options and parameters\n");
    else
        (void)fprintf(page->out,
                      ".TH CONTEND 1 \"\" \"contend %s\" \"User Commands\"\n.SH NAME\ncontend \\- "
                      "measures CPU contention between workers that feed GPUs\n.SH SYNOPSIS\n"
                      ".B contend\n.I COMMAND\n[options]\n.SH DESCRIPTION\n",
                      CONTEND_VERSION);
    put_paragraph(page, help_about);
    put_commands(page);
    put_names(page, env);
    put_exit_codes(page);
    put_heading(page, "Environment");
    put_entries(page, environment);
    put_heading(page, "Examples");
    put_examples(page);
    if (!page->markdown)
        (void)fprintf(page->out,
                      ".SH SEE ALSO\n.BR numactl (8),\n.BR taskset (1),\n.BR lstopo (1)\n");
}

static int man_main(const struct cmd_env *env, int argc, char **argv)
{
    struct man_options options = {0};
    struct cli cli;
    int code;
    if (!cmd_parse(env, &man_command, argc, argv, &options, &cli, &code))
        return code;
    put_page(&(const struct page){.out = stdout, .markdown = options.markdown}, env);
    return cmd_finish();
}

const struct command man_command = {
    .name = "man",
    .main = man_main,
    .summary = "the manual, as roff or Markdown: all commands, options, parameters",
    .about = "Prints the manual: all commands, options and parameters. To read it without "
             "installing it: contend man | man -l -",
    .opts = man_options,
};
