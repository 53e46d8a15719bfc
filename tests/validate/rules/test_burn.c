/* Rules of memory and of a burn-in, over made-up values. */
#include "tests/lib/fixture_world.h"
#include "tests/lib/unit.h"

static struct fixture_world *const w = &fixture_world;

enum { BINS = 6, PLACES = 300 };
static struct facts_value values[PLACES];
static struct facts later;
static size_t n;

static struct facts_value *put(double value, const char *metric, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static struct facts_value *put(double value, const char *metric, const char *format, ...)
{
    va_list args;
    struct facts_value *at = &values[n++];
    assert_in_range(n, 1, PLACES);
    *at = (struct facts_value){.value = value};
    put_text(at->metric, "%s", metric);
    va_start(args, format);
    (void)vsnprintf(at->key, sizeof(at->key), format, args);
    va_end(args);
    return at;
}

/* A burn-in of a minute, in which GPU 1's products fall to `kept` of their first rate. */
static void burn(double kept)
{
    n = 0;
    for (int b = 0; b < BINS; b++) {
        int time = 10 * (b + 1);
        put(50, "burn_cpu_rate", "time=%d", time);
        put(80, "burn_memory_rate", "time=%d", time);
        for (int gpu = 0; gpu < GPUS; gpu++) {
            double share = gpu == 1 ? 1 - (1 - kept) * b / (BINS - 1) : 1;
            put(500 * share, "burn_products", "time=%d;gpu=%d", time, gpu);
            put(60, "burn_copies", "link=host;time=%d;gpu=%d", time, gpu);
            put(1600, "burn_clock", "stat=mean;time=%d;gpu=%d", time, gpu);
            put(1300 + b, "burn_clock", "stat=min;time=%d;gpu=%d", time, gpu);
            put(1980 - b, "burn_clock", "stat=max;time=%d;gpu=%d", time, gpu);
        }
    }
    for (int gpu = 0; gpu < GPUS; gpu++) {
        put(0, "burn_slowdown", "gpu=%d", gpu);
        put(0.97, "burn_throttle", "reason=power;gpu=%d", gpu);
    }
    w->facts.probes[PROBE_BURN] =
        (struct facts_probe){.status = PROBE_DONE, .n = n, .capacity = PLACES, .values = values};
    later = w->facts;
    w->facts.after_burn = &later;
}

/* Adds a measured value. */
static void add(struct facts_value *value)
{
    (void)value;
    w->facts.probes[PROBE_BURN].n = n;
}

static void all_pass(void)
{
    fixture_passes("burn_right");
    fixture_passes("burn_steady");
    fixture_passes("burn_clocks");
    fixture_passes("burn_events");
}

TEST_ON_WORLD(burn_passes_a_good_machine)
{
    char said[500];
    assert_false(burn_format(&w->facts, said, sizeof(said)));
    burn(0.97);
    all_pass();
    assert_true(burn_format(&w->facts, said, sizeof(said)));
    assert_string_equal(said, "burn-in of 60 s: GPUs 1300 to 1980 MHz (mean 1600); clocks held by "
                              "the power limit 97%, a slowdown 0%; CPUs 50 G/s, memory 80 GB/s");
    w->topo.ngpus = 0;
    assert_string_equal(fixture_judged("burn_right", NULL)->sentence,
                        "no GPU: CPUs and memory alone, all right over 60 s");
}

TEST_ON_WORLD(burn_finds_wrong_results)
{
    static struct facts_value memory = {.metric = "memory_test_rate", .key = "gpu=2"};
    burn(1);
    add(put(NAN, "burn_products", "gpu=3"));
    put_text(values[n - 1].why, "C is wrong");
    fixture_finds("burn_right", "gpu=3", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    w->facts.probes[PROBE_BURN].status = PROBE_FAILED;
    fixture_finds("burn_right", NULL, OUTCOME_FAIL, "hardware", ACTION_REPLACE);
    memory.value = 8000;
    w->facts.probes[PROBE_GPU_MEMORY] =
        (struct facts_probe){.status = PROBE_DONE, .n = 1, .values = &memory};
    fixture_passes("gpu_memory_right");
    memory.value = NAN;
    put_text(memory.why, "1 wrong words of its memory");
    fixture_finds("gpu_memory_right", "gpu=2", OUTCOME_FAIL, "hardware", ACTION_REPLACE);
}

TEST_ON_WORLD(burn_finds_what_sags)
{
    burn(0.85);
    fixture_finds("burn_steady", "GPU 1 (0000:02:00.0)", OUTCOME_WARN, "hardware", ACTION_WATCH);
    burn(0.6);
    fixture_finds("burn_steady", "GPU 1 (0000:02:00.0)", OUTCOME_FAIL, "hardware", ACTION_WATCH);
    /* Slow from the first second, compared with its peers. */
    burn(1);
    for (size_t i = 0; i < n; i++)
        if (strcmp(values[i].metric, "burn_products") == 0 && strstr(values[i].key, "gpu=2"))
            values[i].value *= 0.7;
    fixture_finds("burn_steady", "GPU 2 (0000:03:00.0)", OUTCOME_FAIL, "hardware", ACTION_WATCH);
}

TEST_ON_WORLD(burn_finds_what_holds_clocks)
{
    burn(1);
    for (size_t i = 0; i < n; i++)
        if (strcmp(values[i].metric, "burn_slowdown") == 0 && strstr(values[i].key, "gpu=1"))
            values[i].value = 0.2;
    fixture_finds("burn_clocks", "GPU 1 (0000:02:00.0)", OUTCOME_WARN, "hardware", ACTION_WATCH);
    for (size_t i = 0; i < n; i++)
        values[i].value = strcmp(values[i].metric, "burn_slowdown") == 0 ? 0.6 : values[i].value;
    fixture_finds("burn_clocks", "GPU 1 (0000:02:00.0)", OUTCOME_FAIL, "hardware", ACTION_WATCH);
    burn(1);
    add(put(0.1, "burn_throttle", "reason=thermal;gpu=0"));
    fixture_finds("burn_clocks", "GPU 0 (0000:01:00.0)", OUTCOME_WARN, "hardware", ACTION_WATCH);
    burn(1);
    later.throttle_events = 3;
    fixture_finds("burn_clocks", NULL, OUTCOME_WARN, "hardware", ACTION_WATCH);
}

TEST_ON_WORLD(burn_finds_new_errors)
{
    static struct facts_event xid = {.kind = EVENT_XID, .count = 1};
    static struct facts_edac edac = {.name = "mc0", .corrected = 2};
    static struct facts_device devices[DEVICES];
    static struct topo topo;
    static struct topo_gpu gpus[GPUS];
    static struct gpu_health health;
    burn(1);
    later.nevents = 1;
    later.events = &xid;
    fixture_finds("burn_events", NULL, OUTCOME_FAIL, "hardware", ACTION_RESET);
    burn(1);
    later.nedac = 1;
    later.edacs = &edac;
    fixture_finds("burn_events", "mc0", OUTCOME_WARN, "hardware", ACTION_RESET);
    burn(1);
    memcpy(devices, w->devices, sizeof(devices));
    devices[1].aer_nonfatal = 4;
    later.devices = devices;
    fixture_finds("burn_events", "0000:02:00.0", OUTCOME_FAIL, "hardware", ACTION_RESET);
    burn(1);
    topo = w->topo;
    topo.gpus = gpus;
    later.topo = &topo;
    memcpy(gpus, w->gpus, sizeof(gpus));
    health = w->health[3];
    health.ecc_uncorrected = 1;
    gpus[3].health = &health;
    fixture_finds("burn_events", "GPU 3 (0000:04:00.0)", OUTCOME_FAIL, "hardware", ACTION_RESET);
    burn(1);
    add(put(2, "burn_replays", "gpu=0"));
    fixture_finds("burn_events", "GPU 0 (0000:01:00.0)", OUTCOME_WARN, "hardware", ACTION_RESET);
}

/* A burn-in of an hour is not repeated. */
TEST_ON_WORLD(burn_is_not_looked_at_again)
{
    static const struct rules_request all;
    burn(0.6);
    assert_int_equal(rules_to_repeat(fixture_judge(&all), &all), 0);
}
