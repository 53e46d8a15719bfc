#include "harness/cmd/session/resume.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/page.h"
#include "harness/lib/base/text.h"
#include "harness/lib/say/log.h"
#include "harness/lib/say/terminal.h"

/* What may stand beside --resume: the rest is as the run had it. */
static const char may_differ[] = "resume,verbose,json,no-plots,strict";

static int check_line(const struct session *s, struct err *err)
{
    struct run_options usual = {0};
    char given[512], value[512];
    const char *extra = s->cli.npositional                             ? s->cli.positional[0]
                        : s->cli.npairs                                ? s->cli.pairs[0]
                        : s->options_argc && s->options_argc < s->argc ? "--"
                        : s->job_env.launcher                          ? "mpirun or srun"
                                                                       : NULL;
    opts_set_defaults(s->opts, &usual);
    for (const struct opt *opt = s->opts; opt->name && !extra; opt++) {
        (void)opt_format_value(opt, &s->options, given, sizeof(given));
        (void)opt_format_value(opt, &usual, value, sizeof(value));
        if (strcmp(given, value) != 0 && !text_has_word(may_differ, ',', opt->name))
            extra = opt->name;
    }
    return extra ? err_set(err, -EINVAL,
                           "--resume goes on with the command and options of the run: leave out "
                           "'%.100s'",
                           extra)
                 : 0;
}

/* The run's own command line, without what must not be done twice. */
static int read_line(struct session *s, struct err *err)
{
    const struct run_options asked = s->options;
    struct unfinished *run = &s->unfinished;
    if (strcmp(run->words[1], s->argv[0]) != 0)
        return err_set(err, -EINVAL, "'%.150s' is no result of 'contend %s': it cannot be resumed",
                       asked.resume, s->argv[0]);
    run->words[0] = s->argv[-1];
    s->argv = run->words + 1;
    s->argc = run->nwords - 1;
    s->options_argc = s->options_argc ? session_options_argc(s->argc, s->argv) : 0;
    if (!session_parse(s))
        return err_set(err, -EINVAL, "'%.150s' is not of this version", asked.resume);
    s->options.resume = s->options.out = s->run_dir.dir.path;
    s->options.verbose = asked.verbose || s->options.verbose;
    s->options.json = asked.json || s->options.json;
    s->options.no_plots = asked.no_plots || s->options.no_plots;
    s->options.strict = asked.strict || s->options.strict;
    s->options.trace = run->rounds_done ? NULL : s->options.trace;
    if (s->options_argc == s->argc && !s->options.sample) { /* of several scenarios, this one */
        s->cli.positional[0] = run->scenario;
        s->cli.npositional = 1;
    }
    return 0;
}

static int print_complete(struct session *s, struct err *err)
{
    const struct unfinished *run = &s->unfinished;
    log_info("already complete: %u rounds are in %s", run->rounds_done, s->run_dir.dir.path);
    s->options.no_plots = true; /* its page stays as it is */
    return session_print_summary(
        s, terminal_has_escapes(STDOUT_FILENO) && terminal_has_color(STDOUT_FILENO), err);
}

bool resume_open(struct session *s, int *code)
{
    struct err err = {0};
    int rc = check_line(s, &err);
    if (!rc)
        rc = run_dir_continue(&s->run_dir, s->options.resume, page_remove_drawn, &err);
    if (!rc)
        rc = unfinished_read(s->run_dir.dir.fd, &s->unfinished, &err);
    bool is_complete = !rc && s->unfinished.is_complete;
    if (is_complete)
        rc = print_complete(s, &err);
    else if (!rc)
        rc = read_line(s, &err);
    if (rc)
        log_error("%s", err.msg);
    *code = rc ? EXIT_USAGE : s->unfinished.failed ? EXIT_NOT_RUN : EXIT_GOOD;
    return !rc && !is_complete;
}

void resume_close(struct session *s)
{
    run_dir_close(&s->run_dir);
    unfinished_free(&s->unfinished);
}
