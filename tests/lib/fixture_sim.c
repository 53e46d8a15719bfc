#include "tests/lib/fixture_sim.h"

#include "harness/lib/stats.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

double sim_uniform(uint64_t *state)
{
    return random_share(state) + 0x1p-54; /* above 0, so that its logarithm is finite */
}

double sim_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(sim_uniform(state)));
    return radius * cos(2 * acos(-1) * sim_uniform(state));
}

void sim_rounds(const struct sim *sim, uint64_t *state, double log_time, double *times)
{
    double noise = sim_normal(state);
    for (unsigned i = 0; i < sim->rounds; i++) {
        double heavy = sim_uniform(state) < sim->heavy ? log(4) * sim_uniform(state) : 0;
        times[i] = exp(log_time + sim->round_sd * noise + heavy);
        noise = sim->rho * noise + sqrt(1 - sim->rho * sim->rho) * sim_normal(state);
    }
}

static void add_row(const struct sim *sim, struct sim_run *run, size_t arm, const char *metric,
                    const char *unit, const char *better, double *values)
{
    const struct arm *own = &run->result.arms[arm];
    size_t n = stats_sort(values, sim->rounds);
    assert_true(n > 0 && n < STATS_RANGE_BELOW);
    struct row row = {.arm = own,
                      .scenario = "sim",
                      .placement = placement_infos[own->placement].name,
                      .role = row_role(own),
                      .bench = own->bench->name,
                      .device = "none",
                      .workers = own->workers,
                      .planned_workers = own->planned_workers,
                      .metric = metric,
                      .better = better,
                      .rounds = (unsigned)n,
                      .samples = n,
                      .median = stats_median(values, n),
                      .ci_low = values[0],
                      .ci_high = values[n - 1],
                      .min = values[0],
                      .max = values[n - 1]};
    put_text(row.unit, "%s", unit);
    put_text(row.run_id, "%s", run->result.run_id);
    row_put_params(&run->result, own, NULL, &NO_DIMS, row.params);
    assert_int_equal(rows_append(&run->analysis.rows, &row, NULL), 0);
}

void sim_run_make(const struct sim *sim, uint64_t *state, unsigned run, unsigned slowed,
                  double slower, struct sim_run *made)
{
    double times[SIM_ROUNDS], rates[SIM_ROUNDS];
    assert_true(sim->rounds > 0 && sim->rounds <= SIM_ROUNDS && sim->arms <= PLACEMENTS);
    *made = (struct sim_run){.analysis = {.result = &made->result}};
    fixture_result_init(&made->result);
    put_text(made->result.run_id, "sim-%u", run);
    for (unsigned arm = 0; arm < sim->arms; arm++)
        (void)fixture_add_arm(&made->result, (enum placement)arm, 2, false);
    double of_run = sim_normal(state) * sqrt(sim->common);
    of_run = sim->run_sd * of_run + sim->drift * run +
             (sim_uniform(state) < sim->mode_share ? sim->mode : 0);
    for (unsigned arm = 0; arm < sim->arms; arm++) {
        double own = sim->run_sd * sqrt(1 - sim->common) * sim_normal(state);
        sim_rounds(sim, state, of_run + own + (arm < slowed ? log(slower) : 0), times);
        for (unsigned i = 0; i < sim->rounds; i++) /* slightly different from the median step */
            rates[i] = exp(0.2 * sim->round_sd * sim_normal(state)) / times[i];
        add_row(sim, made, arm, "throughput", "items/s", "higher", rates);
        add_row(sim, made, arm, "step_time", "s", "lower", times);
    }
}

void sim_run_free(struct sim_run *run)
{
    rows_free(&run->analysis.rows);
    values_free(&run->analysis.values);
    fixture_result_free(&run->result);
}
