#include "harness/record/jobs.h"

#include <math.h>

#include "harness/record/rounds.h"

/* The sum over its workers; NaN if one has none. */
static double rate_of(const struct result *result, const struct arm *arm,
                      const struct observation *of, size_t job)
{
    const struct neighbour *asked = &result->neighbours->all[job];
    double sum = 0;
    for (unsigned w = 0; w < of->nworkers; w++)
        if (neighbour_of(result->neighbours, arm->alone, w, NULL) == asked)
            sum += rounds_worker_rate(asked->bench, &of->workers[w]);
    return sum > 0 ? sum : (double)NAN;
}

/* The arm of that job alone; NULL = there is none. */
static const struct arm *find_alone(const struct result *result, size_t job)
{
    for (size_t i = 0; i < result->narms; i++)
        if (result->arms[i].alone == job + 1)
            return &result->arms[i];
    return NULL;
}

static double kept_of(const struct result *result, const struct arm *arm,
                      const struct observation *of, size_t job)
{
    const struct arm *alone = find_alone(result, job);
    const struct observation *by_itself = alone ? arm_observation(alone, of->round) : NULL;
    return by_itself ? rate_of(result, arm, of, job) / rate_of(result, alone, by_itself, job)
                     : (double)NAN;
}

double jobs_throughput(const struct result *result, const struct arm *arm,
                       const struct observation *of)
{
    const size_t n = result->neighbours->n;
    double sum = 0, logs = 0;
    for (size_t job = 0; job < n; job++)
        if (!arm->alone || arm->alone == job + 1) {
            sum += kept_of(result, arm, of, job);
            logs += log(rate_of(result, arm, of, job));
        }
    return find_alone(result, 0) ? sum : exp(logs / (double)n);
}

size_t jobs_values(const struct result *result, const struct arm *arm, const struct observation *of,
                   struct job_value values[JOB_VALUES])
{
    const struct neighbours *jobs = result->neighbours;
    double slowdowns = 0;
    size_t n = 0, known = 0;
    for (size_t j = 0; j < jobs->n; j++) {
        const struct neighbour *job = &jobs->all[j];
        const double kept = kept_of(result, arm, of, j);
        slowdowns += 1 / kept;
        if (job->rate != job->kept)
            values[n++] = (struct job_value){job->rate, rate_of(result, arm, of, j)};
        if (!arm->alone)
            values[n++] = (struct job_value){job->kept, kept};
    }
    values[n++] = (struct job_value){jobs->fairness, (double)jobs->n / slowdowns};
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i].value))
            values[known++] = values[i];
    return known;
}
