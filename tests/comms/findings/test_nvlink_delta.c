/* Counters of three made-up GPUs beside jobs that are given. */
#include "harness/comms/findings/nvlink_delta.h"
#include "tests/lib/unit.h"

#include <math.h>

static const struct nvlink_counts counts = {
    .n = 3,
    .gpu = {{"0000:01:00.0", 1000, 500}, {"0000:02:00.0", 30, 40}, {"0000:03:00.0", -1, 7}}};
static const struct gpu_link links[] = {
    {.pci = "0000:01:00.0", .to = "0000:02:00.0", .way = GPU_WAY_NVLINK, .gbps = 100},
    {.pci = "0000:01:00.0", .way = GPU_WAY_SWITCH, .gbps = 50},
    {.pci = "0000:01:00.0", .way = GPU_WAY_PCIE, .gbps = 32},
    {.pci = "0000:02:00.0", .way = GPU_WAY_SWITCH, .gbps = 50},
    {.pci = "0000:02:00.0", .to = "0000:01:00.0", .way = GPU_WAY_NVLINK, .gbps = 0},
};

static bool is_here(const char *host)
{
    return !strcmp(host, "here");
}

static void make(const struct comms_nvlink_delta_job *job, struct comms_nvlink_delta *nvlink_delta)
{
    *nvlink_delta = (struct comms_nvlink_delta){.counted.counts = counts, .seconds = 0.5};
    comms_nvlink_delta_make(links, sizeof(links) / sizeof(links[0]), job, nvlink_delta);
}

static bool is(double value, double expected)
{
    return fabs(value - expected) <= 1e-12 * fabs(expected);
}

/* A rank is on the GPU of NVML's number, unless it is elsewhere, dead, or has none. */
TEST(ranks_are_laid_on_gpus_of_this_machine)
{
    struct ras_rank world[] = {{.rank = 0, .pid = 10, .gpu = 0, .host = "there"},
                               {.rank = 5, .pid = 15, .gpu = 1, .host = "here"},
                               {.rank = 6, .pid = 16, .gpu = 3, .host = "here"},
                               {.rank = 7, .pid = 17, .gpu = -1, .host = "here"}};
    struct ras_rank pair[] = {
        {.rank = 1, .pid = 15, .gpu = 1, .host = "here"},
        {.rank = 0, .pid = 9, .gpu = 0, .host = "here", .missing = true, .dead = true}};
    struct ras_communicator communicators[] = {{.size = 2, .nranks = 2, .rank = pair},
                                               {.size = 8, .nranks = 4, .rank = world}};
    const struct ras ras = {.n = 2, .communicator = communicators};
    const struct comms_nvlink_delta_job job = {.ras = &ras, .is_here = is_here};
    struct comms_nvlink_delta nvlink_delta;
    make(&job, &nvlink_delta);
    assert_int_equal(nvlink_delta.by, COMMS_NVLINK_DELTA_BY_RANKS);
    assert_string_equal(nvlink_delta.note, "");
    assert_false(nvlink_delta.gpu[0].of_job || nvlink_delta.gpu[2].of_job);
    assert_true(nvlink_delta.gpu[1].of_job);
    assert_int_equal(nvlink_delta.gpu[1].ranks, 2);
    assert_int_equal(nvlink_delta.gpu[1].rank, 5);
    pair[1].dead = false;
    pair[1].unresponsive = true; /* it may hang, and holds its GPU */
    make(&job, &nvlink_delta);
    assert_true(nvlink_delta.gpu[0].of_job);
    assert_int_equal(nvlink_delta.gpu[0].pid, 9);
}

/* By a process alone where no rank is here. */
TEST(a_process_tells_where_no_rank_does)
{
    struct ras_rank far[] = {{.gpu = 0, .host = "there"}};
    struct ras_communicator communicator = {.size = 1, .nranks = 1, .rank = far};
    const struct ras ras = {.n = 1, .communicator = &communicator};
    const struct gpu_users users[] = {{.pci_bdf = "0000:03:00.0", .n = 2, .pids = {4, 12}},
                                      {.pci_bdf = "0000:09:00.0", .n = 1, .pids = {11}}};
    const long pids[] = {11, 12};
    struct comms_nvlink_delta_job job = {&ras, is_here, 2, users, 2, pids};
    struct comms_nvlink_delta nvlink_delta;
    make(&job, &nvlink_delta);
    assert_int_equal(nvlink_delta.by, COMMS_NVLINK_DELTA_BY_PROCESS);
    assert_false(nvlink_delta.gpu[0].of_job || nvlink_delta.gpu[1].of_job);
    assert_true(nvlink_delta.gpu[2].of_job);
    memcpy(far[0].host, "here", 5);
    make(&job, &nvlink_delta);
    assert_int_equal(nvlink_delta.by, COMMS_NVLINK_DELTA_BY_RANKS);
    assert_true(nvlink_delta.gpu[0].of_job && !nvlink_delta.gpu[2].of_job);
    job = (struct comms_nvlink_delta_job){.nusers = 2, .users = users};
    make(&job, &nvlink_delta);
    assert_int_equal(nvlink_delta.by, COMMS_NVLINK_DELTA_BY_NOBODY);
    assert_non_null(strstr(nvlink_delta.note, "NCCL names no rank"));
    nvlink_delta.counted.why[0] = 'x'; /* nothing was counted */
    comms_nvlink_delta_make(links, 5, &job, &nvlink_delta);
    assert_int_equal(nvlink_delta.n, 0);
}

/* What is not told is no zero, and what one link can carry nobody knows all of them can. */
TEST(sums_are_of_what_is_told)
{
    struct ras_rank ranks[] = {{.gpu = 0, .host = "here"}, {.gpu = 2, .host = "here"}};
    struct ras_communicator communicator = {.size = 2, .nranks = 2, .rank = ranks};
    const struct ras ras = {.n = 1, .communicator = &communicator};
    const struct comms_nvlink_delta_job job = {.ras = &ras, .is_here = is_here};
    struct comms_nvlink_delta nvlink_delta;
    make(&job, &nvlink_delta);
    struct comms_nvlink_delta_sides sides =
        comms_nvlink_delta_of(&nvlink_delta, &nvlink_delta.gpu[0]);
    assert_true(is(nvlink_delta.gpu[0].gbps, 150));
    assert_true(is(sides.sent.rate, 2000));
    assert_true(is(sides.received.share, 500 / 75e9));
    sides = comms_nvlink_delta_of(&nvlink_delta, &nvlink_delta.gpu[1]);
    assert_true(isnan(sides.sent.share));
    sides = comms_nvlink_delta_of(&nvlink_delta, &nvlink_delta.gpu[2]);
    assert_true(isnan(sides.sent.bytes) && isnan(sides.sent.rate));
    assert_true(is(sides.received.bytes, 7));
    sides = comms_nvlink_delta_all(&nvlink_delta, false);
    assert_true(is(sides.sent.bytes, 1030));
    assert_true(isnan(sides.sent.share));
    sides = comms_nvlink_delta_all(&nvlink_delta, true);
    assert_true(is(sides.sent.bytes, 1000));
    assert_true(is(sides.sent.share, 1000 / 75e9)); /* of the one that is told */
    assert_true(is(sides.received.bytes, 507));
    assert_true(isnan(sides.received.share));
}
