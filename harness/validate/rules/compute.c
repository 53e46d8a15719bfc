/* Rules of GPUs under load: correct products, their rates, and what holds clocks down. */

#include "harness/validate/rules/check.h"

/*
 * Shares of the dense rate in the data sheet, which is for the highest clock. At their power limit,
 * H100 and H200 reach 0.66 to 0.83 with large products (results/h200-x2-vm/gpu), and cards with
 * less power a third or more. Below that a clock, the power or the cooling is wrong.
 */
#define PRODUCTS_LEAST 0.3
#define PRODUCTS_MOST 1.02
/* Share of the time under load. */
#define HELD_MOST 0.05

static bool none_lost(struct checks *checks)
{
    return !check_lost(checks, PROBE_GPU_MATMUL);
}

#define SHARE(type, op, bound, outcome, sentence, ...)                                             \
    {                                                                                              \
        OF_GPU, MEASURED(PROBE_GPU_MATMUL, "matmul_peak_share", "type=" type), op, NUMBER(bound),  \
            outcome, "matmul_peak_share", "share", sentence, .part = (type), __VA_ARGS__           \
    }
#define PRODUCTS(type)                                                                             \
    SHARE(type, BELOW, PRODUCTS_LEAST, OUTCOME_FAIL,                                               \
          "its products reach {%}% of the rate in its data sheet", .independent = true),           \
        SHARE(type, ABOVE, PRODUCTS_MOST, OUTCOME_FAIL,                                            \
              "{%}% of the rate in its data sheet is not possible: another product?",              \
              .cause = "setup")
#define HELD(reason, sentence)                                                                     \
    {                                                                                              \
        OF_GPU, MEASURED(PROBE_GPU_MATMUL, "gpu_throttle", "reason=" reason), ABOVE,               \
            NUMBER(HELD_MOST), OUTCOME_WARN, "throttled_by_" reason, "share", sentence,            \
            .independent = true                                                                    \
    }

const struct rule rules_compute[] = {
    {"gpu_products", RULE_HEALTH, "hardware", ACTION_REPLACE, "measurement, cuBLASLt",
     "Every GPU, alone and beside the others, multiplies matrices of all its types rightly.",
     "Freivalds 1977: all of each product is checked", "contend bench gpu_matmul",
     .probes = 1u << PROBE_GPU_MATMUL, .of_gpus = true, .ready = none_lost,
     .limits = {{OF_GPU, MEASURED(PROBE_GPU_MATMUL, "matmul_rate", ""), TOLD, NUMBER(0),
                 OUTCOME_PASS, NULL, NULL, ""}},
     .unknown = "no product was measured", .passed = "the products of {n} GPU{s} are right"},
    {"gpu_compute", RULE_PHYSICAL, "hardware", ACTION_WATCH, "measurement, a known GPU",
     "Large matrix products reach 30 to 102% of the dense rate in the GPU's data sheet.",
     "NVIDIA's data sheets", "contend bench gpu_matmul", .probes = 1u << PROBE_GPU_MATMUL,
     .of_gpus = true, .limits = {PRODUCTS("bf16"), PRODUCTS("fp8"), PRODUCTS("fp64")},
     .unknown = "the data sheet of this GPU is not known",
     .passed = "large products are within 30 to 102% of the data sheet"},
    {"gpu_load_clocks", RULE_HEALTH, "hardware", ACTION_WATCH, "measurement, driver",
     "Under load neither heat nor the board's supply holds a GPU's clock down; its power limit "
     "may.",
     "NVML, counters of clock event reasons", "nvidia-smi -q -d PERFORMANCE,TEMPERATURE",
     .probes = 1u << PROBE_GPU_MATMUL, .of_gpus = true,
     .limits = {HELD("thermal", "heat held its clock down for {%}% of the time under load"),
                HELD("board_limit",
                     "the board's supply held its clock down for {%}% of the time under load"),
                HELD("reliability",
                     "its voltage limit held its clock down for {%}% of the time under load")},
     .unknown = "too short a load, or a driver that does not count what holds clocks down",
     .passed = "neither heat nor the board held a clock down under load"},
    {.id = NULL}};
