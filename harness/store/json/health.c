#include "harness/store/json/health.h"

#include "harness/store/json/findings.h"
#include "harness/store/json/value.h"

static json_t *instance_at(const void *of, size_t i)
{
    const struct gpu_health *h = of;
    return json_value_object("name:t uuid:t", h->instances[i].name, h->instances[i].uuid);
}

static json_t *process_at(const void *of, size_t i)
{
    const struct gpu_process *process = &((const struct gpu_health *)of)->processes[i];
    return json_value_object("pid:i name:T memory_bytes:N", (int)process->pid, process->name,
                             process->memory_bytes);
}

/* How many are listed of those that there are; unknown is none. */
static size_t listed(int n, int most)
{
    return n < 0 ? 0 : (size_t)(n < most ? n : most);
}

static json_t *judged_to_json(const struct gpu_health *h, const char *subject)
{
    struct findings findings = {0};
    json_t *json =
        gpu_health_judge(h, subject, &findings, NULL) ? NULL : findings_to_json(&findings);
    findings_free(&findings);
    return json;
}

json_t *gpu_health_to_json(const struct gpu_health *h, const char *subject)
{
    if (!h)
        return json_null();
    return json_value_object(
        "pcie:o nvlink:o ecc:o memory:o persistence:f compute_mode:t mig:o processes:o clock_mhz:r "
        "clock_max_mhz:r memory_clock_mhz:r power_w:r power_limit_w:r power_limit_default_w:r "
        "temperature_c:r findings:o",
        json_value_object("generation:n generation_link:n generation_gpu:n width:n width_max:n",
                          h->pcie_generation, h->pcie_generation_link, h->pcie_generation_gpu,
                          h->pcie_width, h->pcie_width_max),
        json_value_object("links:n active:n version:n", h->nvlinks, h->nvlinks_active,
                          h->nvlink_version),
        json_value_object("on:f on_after_reset:f corrected:N uncorrected:N corrected_life:N "
                          "uncorrected_life:N",
                          h->ecc, h->ecc_pending, h->ecc_corrected, h->ecc_uncorrected,
                          h->ecc_corrected_life, h->ecc_uncorrected_life),
        json_value_object("rows_corrected:n rows_uncorrected:n rows_pending:f rows_failed:f "
                          "pages_pending:f",
                          h->rows_corrected, h->rows_uncorrected, h->rows_pending, h->rows_failed,
                          h->pages_pending),
        h->persistence, gpu_compute_mode_name(h->compute_mode),
        json_value_object(
            "on:f on_after_reset:f count:n instances:o", h->mig, h->mig_pending, h->ninstances,
            json_value_array(h, listed(h->ninstances, GPU_INSTANCES_MAX), instance_at)),
        json_value_object(
            "count:n list:o", h->nprocesses,
            json_value_array(h, listed(h->nprocesses, GPU_PROCESSES_MAX), process_at)),
        h->clock_mhz, h->clock_max_mhz, h->memory_clock_mhz, h->power_w, h->power_limit_w,
        h->power_limit_default_w, h->temperature_c, judged_to_json(h, subject));
}
