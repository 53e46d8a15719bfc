#include "harness/engine/discover/scans.h"

#include <errno.h>
#include <string.h>

#include "harness/engine/arms/arms.h"
#include "harness/engine/run/run.h"
#include "harness/lib/say/progress.h"

enum { MAX_SCANS = 2 };

static const double scan_time_s = 2.5, scan_limit_s = 120, setup_limit_s = 60;

/* Scans to run together, and the parameters that the arms borrow. */
struct measure {
    const struct bench *const *benches;
    const struct topo *topo;
    struct signals *signals;
    struct result result;
    unsigned char params[MAX_SCANS][BENCH_PARAMS_MAX];
};

static void on_arm(void *arg, const struct arm *arm, unsigned round, size_t done, size_t total)
{
    (void)arg;
    (void)round;
    progress_set(arm->bench->name, done, total, (double)total * scan_time_s);
}

static void on_wait(void *arg)
{
    (void)arg;
    progress_tick();
}

static int add_scan(struct measure *m, size_t index, const char *name, struct err *err)
{
    static const enum placement none = PLACE_NONE;
    static const unsigned one = 1;
    const struct bench *bench = bench_find(m->benches, name);
    if (!bench)
        return err_set(err, -ENOTSUP, "this program has no benchmark '%s' to measure with", name);
    opts_set_defaults(bench->opts, m->params[index]);
    const struct arms_request request = {.bench = bench,
                                         .params = m->params[index],
                                         .placements = &none,
                                         .nplacements = 1,
                                         .workers = &one,
                                         .nworkers = 1};
    return arms_add(m->topo, &request, &m->result, err);
}

/* A scan that failed in any round: nothing can be read from the others with confidence. */
static int check_scans(const struct result *result, struct err *err)
{
    for (size_t a = 0; a < result->narms; a++)
        for (size_t o = 0; o < result->arms[a].nobservations; o++) {
            const struct observation *observation = &result->arms[a].observations[o];
            if (observation->status > STATUS_NOISY)
                return err_set(err, -ENOTSUP, "%s: %.180s", result->arms[a].bench->name,
                               observation->reason);
        }
    return 0;
}

/* Runs the named scans, all of them each round. */
static int run_scans(struct measure *m, const char *const *names, size_t n, unsigned rounds,
                     struct err *err)
{
    const struct observe_config config = {.topo = m->topo,
                                          .run = &m->result,
                                          .measure_s = scan_time_s,
                                          .limit_s = scan_limit_s,
                                          .setup_s = setup_limit_s,
                                          .on_wait = on_wait};
    const struct run_hooks hooks = {.on_arm = on_arm};
    int rc = 0;
    m->result = (struct result){.scenario = "measure", .rounds_planned = rounds, .seed = 1};
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_scan(m, i, names[i], err);
    if (!rc)
        rc = run_rounds(&config, &hooks, m->signals, &m->result, err);
    progress_end();
    return rc ? rc : check_scans(&m->result, err);
}

static int put_pairs(const struct result *result, struct measured_scan *scans, struct err *err)
{
    for (size_t a = 0; a < result->narms; a++) {
        const struct arm *arm = &result->arms[a];
        for (size_t o = 0; o < arm->nobservations; o++) {
            const struct worker_result *worker = &arm->observations[o].workers[0];
            for (size_t i = 0; i < worker->nvalues; i++) {
                const struct value *value = &worker->values[i];
                int rc = measured_scan_put(&scans[arm->observations[o].round],
                                           arm->bench->metrics[value->metric].name,
                                           (unsigned)value->dims.of[0].at,
                                           (unsigned)value->dims.of[1].at, value->value, err);
                if (rc)
                    return rc;
            }
        }
    }
    return 0;
}

static int measure_pairs(struct measure *m, struct measured *out, struct err *err)
{
    static const char *const pairs[] = {"core_to_core", "smt_pairs"};
    struct measured_scan scans[SCANS_REPEATS] = {{0}};
    const struct measured_input input = {
        .reported = m->topo, .scans = scans, .nscans = SCANS_REPEATS};
    int rc = run_scans(m, pairs, 2, SCANS_REPEATS, err);
    for (unsigned i = 0; i < SCANS_REPEATS && !rc; i++)
        rc = measured_scan_init(&scans[i], m->topo, err);
    if (!rc)
        rc = put_pairs(&m->result, scans, err);
    arms_free(&m->result);
    if (!rc)
        rc = measured_find(&input, out, err);
    for (unsigned i = 0; i < SCANS_REPEATS; i++)
        measured_scan_free(&scans[i]);
    return rc;
}

int scans_measure(const struct bench *const *benches, const struct topo *topo, struct measured *out,
                  struct err *err)
{
    struct signals signals;
    struct measure m = {.benches = benches, .topo = topo, .signals = &signals};
    *out = (struct measured){0};
    if (!topo->is_this_machine)
        return err_set(err, -EINVAL, "%s cannot be measured: it is not this machine", topo->origin);
    int rc = signals_open(&signals, err);
    if (rc)
        return rc;
    rc = measure_pairs(&m, out, err);
    if (rc == -EINTR)
        (void)err_set(err, rc, "interrupted while measuring");
    signals_close(&signals);
    return rc;
}
