#include "bench/dose/dose_team.h"

static void stop_at_close(void *what)
{
    dose_team_stop(what);
}

int dose_team_start(struct dose_team *dose_team, struct bench_ctx *ctx, const unsigned *os_cpus,
                    unsigned n, team_job *job, void *arg)
{
    int rc = team_open(&dose_team->team, ctx, os_cpus, n);
    if (rc)
        return rc;
    team_begin(&dose_team->team, NULL, n, job, arg);
    dose_team->running = true;
    return bench_at_close(ctx, stop_at_close, dose_team);
}

void dose_team_stop(struct dose_team *dose_team)
{
    if (!dose_team->running)
        return;
    atomic_store(&dose_team->stop, true);
    team_end(&dose_team->team);
    dose_team->running = false;
}
