/* contend exec: a user's own command in place of a benchmark. session.h has what it does. */
#include "harness/cmd/exec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cmd/help.h"
#include "harness/cmd/program.h"
#include "harness/cmd/run_options.h"
#include "harness/say/log.h"

/* `numa` and `gpu-local` are skipped where there is one node, or no GPU. */
static const char placements[] = "none,sized,passive,partition";

int exec_options_argc(int argc, char **argv)
{
    int n = 1;
    while (n < argc && strcmp(argv[n], "--") != 0)
        n++;
    return n < argc ? n : argc;
}

static bool is_program(const char *path)
{
    struct stat found;
    return !stat(path, &found) && S_ISREG(found.st_mode) && !access(path, X_OK);
}

int exec_find_program(const char *name, struct err *err)
{
    char path[4096];
    const char *at = getenv("PATH");
    if (strchr(name, '{')) /* another one for each worker, perhaps */
        return 0;
    if (strchr(name, '/') && is_program(name))
        return 0;
    if (strchr(name, '/'))
        return err_set(err, -ENOENT, "cannot execute '%.150s': %s", name,
                       access(name, F_OK) ? strerror(errno)
                                          : "it is no program, or may not be run");
    for (at = at ? at : "/usr/bin:/bin"; name[0] && *at;) {
        int length = (int)strcspn(at, ":");
        int n =
            snprintf(path, sizeof(path), "%.*s/%s", length ? length : 1, length ? at : ".", name);
        if (n > 0 && (size_t)n < sizeof(path) && is_program(path))
            return 0;
        at += length;
        at += *at == ':';
    }
    return err_set(err, -ENOENT, "no program '%.100s' in PATH", name);
}

/* Of a line that could be read: what a command cannot be run with. */
static int check_line(const struct session *s, struct err *err)
{
    if (s->cli.npairs)
        return err_set(err, -EINVAL, "'-p %.60s': a command has no parameters", s->cli.pairs[0]);
    if (s->job_env.launcher)
        return err_set(err, -EINVAL,
                       "a command's workers are started here, side by side: start it without "
                       "mpirun or srun");
    return 0;
}

/* The sample worker, with what stands behind "--" as its arguments. */
static int take_sample(struct session *s, struct err *err)
{
    static char python[] = "python3", path[4096];
    static char *words[64];
    size_t n = 0;
    int rc = exec_find_program(python, err);
    if (rc)
        return err_set(err, -ENOPKG, "skipped: the sample worker needs python3, which is not here");
    rc = program_share("sample_worker.py", path, sizeof(path), err);
    words[n++] = python;
    words[n++] = path;
    for (int i = s->options_argc + 1; i < s->argc && n < sizeof(words) / sizeof(words[0]) - 1; i++)
        words[n++] = s->argv[i];
    words[n] = NULL;
    s->options.commands[0] = words;
    s->options.ncommands = 1;
    return rc;
}

static int take_command(struct session *s, struct err *err)
{
    struct run_options *options = &s->options;
    char **words = s->argv + s->options_argc;
    int rc = check_line(s, err);
    if (rc || options->sample)
        return rc ? rc : take_sample(s, err);
    if (s->options_argc >= s->argc - 1)
        return err_set(err, -EINVAL,
                       "which command? it stands behind '--', as in 'contend %s -- "
                       "./train --epochs 1'",
                       s->argv[0]);
    options->commands[0] = words + 1;
    options->ncommands = 1;
    return exec_find_program(words[1], err);
}

int exec_take_command(struct session *s)
{
    struct err err = {0};
    int rc = take_command(s, &err);
    if (rc)
        log_error("%s", err.msg);
    /* Of lines the time that they are measured for, the command being ended behind it. */
    if (s->options.command.by_lines && s->options.command.duration_s > 0 && s->options.time_s <= 0)
        s->options.time_s = s->options.command.duration_s;
    if (rc == -ENOPKG)
        return EXIT_NOT_RUN;
    return rc ? EXIT_USAGE : EXIT_GOOD;
}

void exec_make_scenario(const char *name, const struct command_options *options,
                        struct exec_scenario *out)
{
    *out = (struct exec_scenario){
        .parts = {{.foreground = command_bench_name(options), .placements = placements}}};
    out->scenario =
        (struct scenario){.name = name, .summary = "a command of the user", .parts = out->parts};
}

static int exec_main(const struct cmd_env *env, int argc, char **argv)
{
    struct session s = {.env = env, .opts = exec_option_table, .argc = argc, .argv = argv};
    struct exec_scenario exec;
    s.options_argc = exec_options_argc(argc, argv);
    if (!session_parse(&s))
        return EXIT_USAGE;
    if (s.cli.help) {
        help_print_command(env, &exec_command);
        return cmd_finish();
    }
    if (s.cli.npositional) {
        log_error("unexpected argument '%.80s': the command stands behind '--'",
                  s.cli.positional[0]);
        return EXIT_USAGE;
    }
    int code = exec_take_command(&s);
    if (code)
        return code;
    exec_make_scenario("exec", &s.options.command, &exec);
    const struct scenario *scenario = &exec.scenario;
    return session_run(&s, &scenario, 1);
}

const struct command exec_command = {
    .name = "exec",
    .main = exec_main,
    .summary = "a command of your own under each placement, compared",
    .operands = "-- COMMAND [ARGUMENT...]",
    .about = "Starts copies of the command behind '--' as the workers of 'contend run', under each "
             "placement, in random order, round after round, and compares what they get: runs a "
             "second, or a number or lines that it prints. {worker}, {workers}, {gpu}, {cpus} and "
             "{node} in its arguments stand for what each copy has.",
    .opts = exec_option_table,
};
