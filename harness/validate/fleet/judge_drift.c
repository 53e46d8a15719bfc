/* Figures that move over a machine's own runs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "harness/validate/fleet/bounds_make.h"
#include "harness/validate/fleet/drift.h"
#include "harness/validate/fleet/judge_parts.h"
#include "harness/validate/fleet/tail.h"

/*
 * A change of more than that is drift, whatever the tails; and of fewer than DRIFT_MACHINES
 * machines the tails are not known, but heavier than normal ones.
 */
#define DRIFT_MOST 0.25
#define DRIFT_UNKNOWN 1.5
enum { DRIFT_MACHINES = 100 };

/* What may drift, of all machines with runs enough. */
struct drifts {
    double *most; /* of each machine the largest change, in spreads; NaN = none was looked at */
    double *scratch;
    size_t ncells;
};

/* Of the last DRIFT_RUNS_MOST runs, or fewer; NaN where a value has no logarithm. */
static double change_of(const struct fleet *fleet, const struct fleet_cell *cell, size_t *nruns)
{
    double logs[DRIFT_RUNS_MOST];
    *nruns = cell->nvalues < DRIFT_RUNS_MOST ? cell->nvalues : DRIFT_RUNS_MOST;
    size_t first = cell->first + cell->nvalues - *nruns;
    for (size_t i = 0; i < *nruns; i++) {
        if (!(fleet->values[first + i].value > 0))
            return NAN;
        logs[i] = log((double)fleet->values[first + i].value);
    }
    return drift_change(logs, *nruns);
}

static int add_drift(struct judge *judge, size_t i, const struct fleet_cell *cell, double change,
                     double spread, size_t nruns)
{
    const struct bound *bound = &judge->bounds->all[i];
    bool worse = bound->higher ? change < 0 : change > 0;
    return judge_add(judge, &(struct fleet_offence){.machine = cell->machine,
                                                    .kind = OFFENCE_DRIFT,
                                                    .outcome = worse ? OUTCOME_FAIL : OUTCOME_WARN,
                                                    .bound = i,
                                                    .count = nruns,
                                                    .value = cell->value,
                                                    .ratio = exp(change),
                                                    .score = fabs(change) / spread,
                                                    .noisy = cell->noisy});
}

static int judge_drift(struct judge *judge, size_t i, struct drifts *drifts)
{
    const struct fleet *fleet = judge->fleet;
    uint32_t metric = judge->out->metric_of[i];
    double noise = NAN;
    int rc = 0;
    for (size_t c = fleet->first[metric]; c < fleet->first[metric + 1] && !rc; c++) {
        const struct fleet_cell *cell = &fleet->cells[c];
        if (cell->nvalues < DRIFT_RUNS || judge_leaves_out(judge, cell->machine))
            continue;
        if (isnan(noise))
            noise = drift_noise(fleet, metric, drifts->scratch);
        size_t nruns;
        double change = change_of(fleet, cell, &nruns), spread = noise * drift_spread(nruns);
        double *most = &drifts->most[cell->machine];
        *most = fmax(*most, fabs(change) / spread);
        drifts->ncells++;
        if (fabs(change) > -log(1 - BOUNDS_LEAST))
            rc = add_drift(judge, i, cell, change, spread, nruns);
    }
    return rc;
}

/* Those from `first` on that are beyond what good machines reach: their scores are spreads still.
 */
static void keep_drifts(struct judge *judge, struct drifts *drifts, size_t first)
{
    struct fleet_judgement *out = judge->out;
    size_t n = 0, nmachines = judge->fleet->names.n, kept = first;
    for (size_t i = 0; i < nmachines; i++)
        if (!isnan(drifts->most[i]))
            drifts->most[n++] = drifts->most[i];
    if (!n)
        return;
    double figures = (double)drifts->ncells / (double)n;
    double normal = tail_normal(BOUNDS_FALSE / 2 / figures), limit = DRIFT_UNKNOWN * normal;
    if (n >= DRIFT_MACHINES)
        limit = fmax(normal, tail_of_maxima(drifts->most, n, BOUNDS_FALSE));
    for (size_t i = first; i < out->noffences; i++) {
        double spread = fabs(log(out->offences[i].ratio)) / out->offences[i].score;
        double most = fmax(-log(1 - DRIFT_MOST) / spread, normal);
        out->offences[i].score /= fmin(limit, most);
        if (out->offences[i].score > 1)
            out->offences[kept++] = out->offences[i];
    }
    out->noffences = kept;
}

int judge_drifts(struct judge *judge)
{
    const struct fleet *fleet = judge->fleet;
    size_t first = judge->out->noffences, nmachines = fleet->names.n;
    struct drifts drifts = {.most = calloc(nmachines + 1, sizeof(double)),
                            .scratch = calloc(fleet->nvalues + 1, sizeof(double))};
    int rc = drifts.most && drifts.scratch
                 ? 0
                 : err_set(judge->err, -ENOMEM, "out of memory for drifts");
    for (size_t i = 0; !rc && i < nmachines; i++)
        drifts.most[i] = NAN;
    for (size_t i = 0; !rc && i < judge->bounds->n; i++)
        if (judge->out->metric_of[i] != INTERN_NONE)
            rc = judge_drift(judge, i, &drifts);
    if (!rc)
        keep_drifts(judge, &drifts, first);
    free(drifts.most);
    free(drifts.scratch);
    return rc;
}
