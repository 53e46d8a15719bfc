#include "harness/engine/contract/neighbours.h"

#include <errno.h>
#include <string.h>

#include "harness/lib/text.h"

static const struct opt job_option_table[] = {
    COMMAND_OPTIONS(neighbour, options),
    OPT_INT("workers", neighbour, workers, "1", 1, NEIGHBOURS_WORKERS, "N", "copies of it",
            .letter = 'n'),
    OPT_DOUBLE("share", neighbour, share, NULL, 0.01, 1000, "W", "of the cores"),
    {.name = NULL},
};

static int parse_words(struct neighbour *job, struct err *err)
{
    struct cli cli;
    int n = 0;
    while (job->words[n] && strcmp(job->words[n], "--") != 0)
        n++;
    if (!job->words[n] || !job->words[n + 1])
        return err_set(err, -EINVAL, "no command after '--'");
    job->argv = job->words + n + 1;
    opts_set_defaults(job_option_table, job);
    int rc = cli_parse(job_option_table, false, n, job->words, job, &cli, err);
    if (!rc && (cli.npositional || cli.help))
        rc = err_set(err, -EINVAL, "'%.60s' is no option of a job: its command follows '--'",
                     cli.help ? "--help" : cli.positional[0]);
    if (!rc && job->options.slo)
        rc = err_set(err, -EINVAL, "--slo is not for one of several jobs: see --protect");
    if (!rc && job->options.keep)
        rc = err_set(err, -EINVAL, "--keep is not for one of several jobs");
    return rc ? rc : command_check(&job->options, err);
}

static int parse_job(const char *text, struct neighbour *job, struct err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t length = strspn(text, letters);
    if (!length || text[length] != '=' || length >= sizeof(job->name))
        return err_set(err, -EINVAL,
                       "'%.60s': a job is NAME='[OPTIONS] -- COMMAND', its name up to %d of a-z, "
                       "0-9 and '_'",
                       text, NEIGHBOUR_NAME_MAX - 1);
    text_set(job->name, "%.*s", (int)length, text);
    /* cli_parse skips the first word. */
    job->words = command_split(str_fmt("%s %s", job->name, text + length + 1), err);
    return job->words ? parse_words(job, err) : -EINVAL;
}

static struct bench_metric metric_of(const struct neighbour *job, const char *name,
                                     const char *unit, bool gating)
{
    return (struct bench_metric){.name = str_fmt("%s_%s", job->name, name),
                                 .unit = unit,
                                 .better = "higher",
                                 .gating = gating};
}

/* Puts the metrics of a job behind those of the jobs before it. Returns how many there are. */
static unsigned put_metrics(struct neighbours *all, struct neighbour *job, unsigned n)
{
    struct bench_metric own[COMMAND_BENCH_METRICS];
    const char *unit = command_rate_unit(&job->options);
    size_t timed;
    const bool named = command_bench_metrics(&job->options, own, &timed) > 0;
    job->first = n;
    for (const struct bench_metric *metric = own; metric->name; metric++) {
        all->metrics[n] = *metric;
        all->metrics[n].gating = strcmp(metric->better, "none") != 0;
        all->metrics[n++].name = str_fmt("%s_%s", job->name, metric->name);
    }
    job->rate = n;
    unit = unit ? unit : job->options.by_lines ? "lines/s" : job->options.metric.n ? "" : "runs/s";
    if (!named)
        all->metrics[n++] = metric_of(job, NEIGHBOUR_RATE, unit, true);
    job->kept = n;
    all->metrics[n++] = metric_of(job, NEIGHBOUR_KEPT, "ratio", false);
    return n;
}

static int check_names(const struct neighbours *all, size_t at, struct err *err)
{
    struct command_metric metrics[COMMAND_METRICS_MOST];
    const struct neighbour *job = &all->all[at];
    for (size_t i = 0; i < at; i++)
        if (!strcmp(all->all[i].name, job->name))
            return err_set(err, -EINVAL, "two are called so");
    for (size_t i = 0, n = command_metrics(&job->options, metrics); i < n; i++)
        if (!strcmp(metrics[i].name, NEIGHBOUR_KEPT))
            return err_set(err, -EINVAL, "each job has a metric '" NEIGHBOUR_KEPT "'");
    return 0;
}

int neighbours_parse(const struct opt_texts *texts, struct neighbours *neighbours, struct err *err)
{
    unsigned n = 0;
    struct err why = {0};
    *neighbours = (struct neighbours){.bench = {.name = NEIGHBOURS_BENCH,
                                                .summary = "unlike jobs at once, each with its "
                                                           "command",
                                                .rate_unit = "jobs",
                                                .runs_command = true,
                                                .one_shot = true,
                                                .metrics = neighbours->metrics}};
    if (texts->n < 2 || texts->n > NEIGHBOURS_MOST)
        return err_set(err, -EINVAL, "option '--job': 2 to %d jobs run at once", NEIGHBOURS_MOST);
    for (size_t i = 0; i < texts->n; i++) {
        struct neighbour *job = &neighbours->all[neighbours->n++];
        int rc = parse_job(texts->text[i], job, &why);
        if (!rc)
            rc = check_names(neighbours, i, &why);
        if (rc)
            return err_set(err, rc, "option '--job'%s%s: %s", job->name[0] ? ", " : "", job->name,
                           why.msg);
        n = put_metrics(neighbours, job, n);
    }
    if (neighbours_workers(neighbours) > NEIGHBOURS_WORKERS)
        return err_set(err, -EINVAL, "option '--job': %u workers, at most %d run at once",
                       neighbours_workers(neighbours), NEIGHBOURS_WORKERS);
    neighbours->fairness = n;
    neighbours->metrics[n] =
        (struct bench_metric){.name = NEIGHBOURS_FAIRNESS, .unit = "ratio", .better = "higher"};
    return 0;
}

void neighbours_free(struct neighbours *neighbours)
{
    for (size_t i = 0; i < neighbours->n; i++)
        command_words_free(neighbours->all[i].words, 0);
    neighbours->n = 0;
}

const struct neighbour *neighbours_find(const struct neighbours *neighbours, const char *metric,
                                        struct err *err)
{
    const char *known = "";
    for (const struct neighbour *job = neighbours->all; job < neighbours->all + neighbours->n;
         job++)
        for (unsigned m = job->first; m < job->kept; m++) {
            const struct bench_metric *of = &neighbours->metrics[m];
            if (of->hidden || !strcmp(of->better, "none"))
                continue;
            if (!strcmp(of->name, metric))
                return job;
            str_add(&known, ", ", "%s", of->name);
        }
    (void)err_set(err, -EINVAL, "option '--protect': no job has a metric '%s'; known: %s", metric,
                  known);
    return NULL;
}

void neighbours_spread(const struct neighbours *neighbours, const unsigned *of, unsigned *cores)
{
    for (size_t j = 0; j < neighbours->n; j++)
        for (unsigned i = 0, n = (unsigned)neighbours->all[j].workers; i < n; i++)
            *cores++ = of[j] / n + (i < of[j] % n);
}

unsigned neighbours_workers(const struct neighbours *neighbours)
{
    unsigned n = 0;
    for (size_t i = 0; i < neighbours->n; i++)
        n += (unsigned)neighbours->all[i].workers;
    return n;
}

const struct neighbour *neighbour_of(const struct neighbours *neighbours, unsigned alone,
                                     unsigned worker, unsigned *index)
{
    const struct neighbour *job = &neighbours->all[alone ? alone - 1 : 0];
    for (; !alone && worker >= job->workers && job + 1 < neighbours->all + neighbours->n; job++)
        worker -= (unsigned)job->workers;
    if (index)
        *index = worker;
    return job;
}
