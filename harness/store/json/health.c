#include "harness/store/json/health.h"

#include "harness/store/json/findings.h"
#include "harness/store/json/value.h"

static json_t *number(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *flag(int value)
{
    return value < 0 ? json_null() : json_boolean(value);
}

static json_t *pcie_to_json(const struct gpu_health *h)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "generation", number(h->pcie_generation),
                     "generation_link", number(h->pcie_generation_link), "generation_gpu",
                     number(h->pcie_generation_gpu), "width", number(h->pcie_width), "width_max",
                     number(h->pcie_width_max));
}

static json_t *ecc_to_json(const struct gpu_health *h)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "on", flag(h->ecc), "on_after_reset",
                     flag(h->ecc_pending), "corrected", number(h->ecc_corrected), "uncorrected",
                     number(h->ecc_uncorrected), "corrected_life", number(h->ecc_corrected_life),
                     "uncorrected_life", number(h->ecc_uncorrected_life));
}

static json_t *memory_to_json(const struct gpu_health *h)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "rows_corrected", number(h->rows_corrected),
                     "rows_uncorrected", number(h->rows_uncorrected), "rows_pending",
                     flag(h->rows_pending), "rows_failed", flag(h->rows_failed), "pages_pending",
                     flag(h->pages_pending));
}

static json_t *mig_to_json(const struct gpu_health *h)
{
    json_t *list = json_array();
    for (int i = 0; i < h->ninstances && i < GPU_INSTANCES_MAX; i++)
        (void)json_array_append_new(list, json_pack("{s:o, s:o}", "name",
                                                    json_value_text(h->instances[i].name), "uuid",
                                                    json_value_text(h->instances[i].uuid)));
    return json_pack("{s:o, s:o, s:o, s:o}", "on", flag(h->mig), "on_after_reset",
                     flag(h->mig_pending), "count", number(h->ninstances), "instances", list);
}

static json_t *processes_to_json(const struct gpu_health *h)
{
    json_t *list = json_array();
    for (int i = 0; i < h->nprocesses && i < GPU_PROCESSES_MAX; i++) {
        const struct gpu_process *process = &h->processes[i];
        (void)json_array_append_new(list, json_pack("{s:i, s:o, s:o}", "pid", (int)process->pid,
                                                    "name", json_value_text_or_null(process->name),
                                                    "memory_bytes", number(process->memory_bytes)));
    }
    return json_pack("{s:o, s:o}", "count", number(h->nprocesses), "list", list);
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
    const char *mode = gpu_compute_mode_name(h->compute_mode);
    json_t *json =
        json_pack("{s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o}", "pcie", pcie_to_json(h),
                  "nvlink", "links", number(h->nvlinks), "active", number(h->nvlinks_active),
                  "version", number(h->nvlink_version), "ecc", ecc_to_json(h), "memory",
                  memory_to_json(h), "persistence", flag(h->persistence), "compute_mode",
                  json_value_text(mode), "mig", mig_to_json(h), "processes", processes_to_json(h));
    json_t *load = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "clock_mhz", json_value_real(h->clock_mhz),
        "clock_max_mhz", json_value_real(h->clock_max_mhz), "memory_clock_mhz",
        json_value_real(h->memory_clock_mhz), "power_w", json_value_real(h->power_w),
        "power_limit_w", json_value_real(h->power_limit_w), "power_limit_default_w",
        json_value_real(h->power_limit_default_w), "temperature_c",
        json_value_real(h->temperature_c), "findings", judged_to_json(h, subject));
    if (json && json_object_update(json, load)) {
        json_decref(json);
        json = NULL;
    }
    json_decref(load);
    return json;
}
