#include "harness/cmd/subject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cmd/common/named.h"
#include "harness/cmd/common/start.h"
#include "harness/engine/worker/command_bench.h"
#include "harness/lib/sys/file.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/text.h"
#include "harness/record/metric.h"
#include "harness/verdict/recommend.h"

static int subject_take_command(struct session *s);

/* The last three are skipped on a machine with one NUMA node, or without a GPU. */
static const char placements[] = "none,sized,passive,partition,numa,gpu-local,package-local";

static int find_program(const char *name, struct err *err)
{
    char path[4096];
    const size_t blank = strcspn(name, " ");
    const char *first = name[blank] ? str_fmt("%.*s", (int)blank, name) : "{";
    const bool is_file = strchr(name, '/') && file_is_program(name);
    if (is_file || (!strchr(name, '/') && !file_find_program(name, false, path, sizeof(path))))
        return 0;
    if (first[0] && !strchr(first, '{') && !find_program(first, NULL))
        return err_set(err, -ENOENT,
                       "no program '%.100s': quotes make one word of a command; leave them out",
                       name);
    if (strchr(name, '{')) /* a placeholder: may be another program for each worker */
        return 0;
    if (strchr(name, '/'))
        return err_set(err, -ENOENT, "cannot execute '%.150s': %s", name,
                       access(name, F_OK) ? strerror(errno)
                                          : "it is no program, or may not be run");
    return err_set(err, -ENOENT, "no program '%.100s' in PATH", name);
}

/* The client of a server: its words, and the names of metrics. */
static int check_load(const struct command_options *options, struct err *err)
{
    struct command_metric all[COMMAND_METRICS_MOST];
    for (size_t i = 0, n = command_metrics(options, all); i < n; i++)
        if (metric_find(all[i].name) || !strncmp(all[i].name, "client_", 7))
            return err_set(err, -EINVAL,
                           "option '--metric': contend has a metric '%s': choose another name",
                           all[i].name);
    if (!options->load)
        return 0;
    char **words = command_split(options->load, err);
    int rc = words ? find_program(words[0], err) : -EINVAL;
    command_words_free(words, 0);
    return rc;
}

/* Refuses options that a user's command cannot have. */
static int check_line(const struct session *s, struct err *err)
{
    if (s->cli.npairs)
        return err_set(err, -EINVAL, "'-p %.60s': a command has no parameters", s->cli.pairs[0]);
    if (s->job_env.launcher)
        return err_set(
            err, -EINVAL,
            "contend itself starts the copies of a command: start it without mpirun or srun");
    return check_load(&s->options.command, err);
}

/* Uses the sample worker as the command, with the words after "--" as its arguments. */
static int take_sample(struct session *s, struct err *err)
{
    static char python[] = "python3", path[4096];
    static char *words[64];
    size_t n = 0;
    int rc = find_program(python, err);
    if (rc)
        return err_set(err, -ENOPKG,
                       "skipped: the sample worker needs python3, which is not installed");
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
                       "no command: type it after '--', as in 'contend %s -- ./train --epochs 1'",
                       s->argv[0]);
    options->commands[0] = words + 1;
    options->ncommands = 1;
    return find_program(words[1], err);
}

/* Logs an error, if any. Returns the exit code. */
static int report(int rc, const struct err *err)
{
    if (rc)
        log_error("%s", err->msg);
    if (rc == -ENOPKG)
        return EXIT_NOT_RUN;
    return rc ? EXIT_USAGE : EXIT_GOOD;
}

static int split_variants(struct session *s, struct err *err)
{
    static const char *const names[VARIANTS_MAX] = {"A", "B", "C", "D", "E", "F", "G", "H"};
    struct run_options *options = &s->options;
    int n = s->argc - s->options_argc - 1;
    int rc = check_line(s, err);
    if (!rc && (n < 2 || n > VARIANTS_MAX))
        return err_set(err, -EINVAL,
                       "ab compares 2 to %d commands after '--', each in quotes, as in 'contend ab "
                       "-- \"./old --fast\" ./new'; or name variants of one by -V",
                       VARIANTS_MAX);
    for (int i = 0; i < n && !rc; i++) {
        const char *text = s->argv[s->options_argc + 1 + i];
        options->commands[i] = command_split(text, err);
        rc = options->commands[i] ? find_program(options->commands[i][0], err) : -EINVAL;
        options->variants.text[i] = names[i];
    }
    options->ncommands = options->variants.n = (size_t)n;
    return rc;
}

void subject_free_variants(struct session *s)
{
    struct run_options *options = &s->options;
    /* A single command is borrowed from argv. */
    for (size_t i = 0; options->ncommands > 1 && i < VARIANTS_MAX && options->commands[i]; i++)
        command_words_free(options->commands[i], 0);
}

int subject_take_variants(struct session *s)
{
    struct err err = {0};
    for (size_t i = 0; i < s->options.variants.n; i++)
        if (strstr(s->options.variants.text[i], "=build:"))
            return report(err_set(&err, -EINVAL,
                                  "'%.80s': build: compares builds of contend, not commands",
                                  s->options.variants.text[i]),
                          &err);
    if (s->options.variants.n)
        return subject_take_command(s);
    return report(split_variants(s, &err), &err);
}

/*
 * Makes the words after "--" the command of all arms (setup.h), and checks that its program
 * exists and is executable. Needs a parsed line. EXIT_GOOD, or another exit code after a message.
 */
static int subject_take_command(struct session *s)
{
    struct err err = {0};
    int rc = take_command(s, &err);
    /* Lines are counted for --duration; then the command is ended. */
    if (s->options.command.by_lines && s->options.command.duration_s > 0 && s->options.time_s <= 0)
        s->options.time_s = s->options.command.duration_s;
    return report(rc, &err);
}

void subject_make_scenario(const char *name, const struct command_options *options,
                           struct subject *out)
{
    *out = (struct subject){
        .parts = {{.foreground = command_bench_name(options), .placements = placements}}};
    out->scenario =
        (struct scenario){.name = name, .summary = "your own command", .parts = out->parts};
}

int subject_take(struct session *s, struct subject *subject, const struct scenario **named, int *n)
{
    *n = 1;
    if (s->options_argc < s->argc || s->options.sample) {
        if (s->cli.npositional) {
            log_error("'%.80s': a scenario, or a command after '--'", s->cli.positional[0]);
            return EXIT_USAGE;
        }
        int code = subject_take_command(s);
        subject_make_scenario("command", &s->options.command, subject);
        named[0] = &subject->scenario;
        return code;
    }
    *n = named_scenarios(s->env, &s->cli, named);
    return *n < 0 ? EXIT_USAGE : EXIT_GOOD;
}

int subject_take_jobs(struct session *s, struct neighbours *jobs, struct subject *subject)
{
    struct err err = {0};
    struct run_options *options = &s->options;
    const struct neighbour *first = &jobs->all[0];
    int rc = neighbours_parse(&options->jobs, jobs, &err);
    if (!rc && (s->options_argc < s->argc || s->cli.npositional || options->sample ||
                options->background || options->dose || strcmp(options->workers, "auto") != 0))
        rc = err_set(&err, -EINVAL,
                     "--job excludes a scenario, a command after '--', -n, --background and "
                     "--dose: each job has its own command and number of workers");
    for (size_t j = 0; j < jobs->n && !rc; j++) {
        struct neighbour *job = &jobs->all[j];
        job->bench = command_bench_find(command_bench_name(&job->options));
        options->command = job->options;
        rc = check_line(s, &err);
        if (!rc)
            rc = find_program(job->argv[0], &err);
        first = job->options.load && !first->options.load ? job : first;
    }
    options->command = first->options; /* of a server, if there is one: its clients need CPUs */
    options->commands[0] = first->argv;
    options->ncommands = 1;
    options->neighbours = jobs;
    options->workers = str_fmt("%u", neighbours_workers(jobs));
    subject_make_scenario("jobs", &options->command, subject);
    subject->parts[0].placements = "none,sized,partition";
    return report(rc, &err);
}

bool subject_take_task(struct session *s, const struct command *command, struct subject *subject,
                       const struct scenario **scenario, int *code)
{
    const struct scenario *named[CLI_LIST_MAX] = {0};
    int n;
    s->opts = command->opts;
    s->options_argc = session_options_argc(s->argc, s->argv);
    if (!session_parse(s)) {
        *code = EXIT_USAGE;
        return false;
    }
    if (s->cli.help) {
        *code = session_help(s, command);
        return false;
    }
    *code = subject_take(s, subject, named, &n);
    if (!*code && named[0] != &subject->scenario && !session_takes_task(s, named, n))
        *code = EXIT_USAGE;
    *scenario = named[0];
    s->options.arrange = &s->task->arrange;
    return *code == EXIT_GOOD;
}
