#include "harness/engine/background.h"

#include <errno.h>
#include <string.h>

enum { DOSES_MOST = 16 };

int background_parse_dose(const struct run_options *options, struct dose *dose, struct err *err)
{
    struct dose doses[DOSES_MOST];
    if (!options->dose)
        return 0;
    if (options->background || options->background_workers)
        return err_set(err, -EINVAL, "--dose takes the place of --background: leave that out");
    if (options->ranks)
        return err_set(err, -EINVAL, "--dose is not for jobs of several ranks");
    int n = dose_parse_list(options->dose, doses, DOSES_MOST, err);
    if (n > 1 && !options->arrange)
        return err_set(err, -EINVAL, "--dose '%.60s': one level, such as cpu=20%%", options->dose);
    if (n > 0)
        *dose = doses[0];
    return n < 0 ? n : 0;
}

int background_set_dose(const struct bench *const *benches, struct result *result, struct err *err)
{
    for (size_t i = 0; i < result->narms; i++)
        if (!dose_is_idle(&result->arms[i].dose))
            return run_setup_find_bench(benches, DOSE_BENCH, &result->background, err);
    return 0;
}

int background_check_dose(const struct dose *dose, const struct result *result, struct err *err)
{
    /* The transport of collectives is NCCL where the run may use GPUs. */
    if (dose->kind != DOSE_H2D || result->transport == DEVICE_NCCL)
        return 0;
    return err_set(err, -ENOTSUP,
                   "a dose of h2d needs GPUs that this run can use: 'contend info' shows them");
}

int background_set(const struct bench *const *benches, const struct run_options *options,
                   struct run_setup *setup, unsigned *workers, struct err *err)
{
    const char *name = options->background ? options->background : setup->scenario->background;
    if (options->dose)
        return 0;
    if (name && strcmp(name, DOSE_BENCH) == 0)
        return err_set(err, -EINVAL, "--background %s: type --dose KIND=LEVEL", name);
    if (!name)
        return options->background_workers
                   ? err_set(err, -EINVAL, "--background-workers needs --background BENCH")
                   : 0;
    int rc = run_setup_find_bench(benches, name, &setup->result.background, err);
    if (rc)
        return rc;
    unsigned fallback = options->background ? 1 : setup->scenario->background_workers;
    *workers = options->background_workers ? (unsigned)options->background_workers : fallback;
    setup->config.background_params = setup->background_params;
    const struct bench *bench = setup->result.background;
    opts_set_defaults(bench->opts, setup->background_params);
    return bench->validate ? bench->validate(setup->background_params, err) : 0;
}
