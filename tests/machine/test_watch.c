/* What happened to GPUs during an arm, over a made-up driver, and the text about it. */
#include "harness/machine/gpu_watch.h"

#include "tests/lib/fixture_driver.h"
#include "tests/lib/unit.h"

static const char bdfs[][PCI_BDF_MAX] = {"beef:07:00.0", "beef:08:00.0"};

/* Watches an arm from begin to end, with `busy` as the states under load; returns GPU 0's
 * change. */
static struct gpu_change watch(const char *busy, unsigned *n)
{
    struct gpu_watch watched = {0};
    struct gpu_change first = {.xid = -1};
    if (gpu_watch_open(&watched, bdfs, 2, NULL))
        return first;
    gpu_watch_sample(&watched); /* still idle */
    if (busy)
        (void)setenv("FAKE_GPU", busy, 1);
    gpu_watch_start(&watched);
    gpu_watch_sample(&watched);
    gpu_watch_stop(&watched);
    struct gpu_change *changes = gpu_watch_close(&watched, n);
    if (changes)
        first = changes[0];
    free(changes);
    return first;
}

/* True if the text about the change equals `expected`, each line ending with a newline. */
static bool says(const struct gpu_change *change, const char *expected)
{
    struct findings findings = {0};
    char reported[1000] = "";
    gpu_change_judge(change, "GPU 7", "none", "1 of 3 launches", &findings);
    for (size_t i = 0; i < findings.n; i++) {
        const struct finding *finding = &findings.all[i];
        size_t used = strlen(reported);
        (void)snprintf(reported + used, sizeof(reported) - used, "%s %s: %s\n",
                       finding_severity_name(finding->severity), finding->id, finding->sentence);
        if (strcmp(finding->subject, "GPU 7") != 0 ||
            strcmp(finding->evidence, "1 of 3 launches") != 0)
            return false;
    }
    findings_free(&findings);
    if (strcmp(reported, expected) != 0)
        (void)fprintf(stderr, "%s", reported);
    return strcmp(reported, expected) == 0;
}

static int check_good(void)
{
    unsigned n = 0;
    struct gpu_change change = watch(NULL, &n);
    CHECK(n == 2 && !strcmp(change.pci_bdf, bdfs[0]) && says(&change, ""));
    for (int i = 0; i < GPU_COUNTERS; i++)
        CHECK(change.gained[i] == 0);
    CHECK(change.xid == 0 && isnan(change.thermal_share));
    return 0;
}

/* Errors from before the arm are no finding, errors that appear during it are. */
static int check_errors(void)
{
    unsigned n = 0;
    struct gpu_change change = watch(NULL, &n);
    CHECK(change.gained[GPU_ECC_UNCORRECTED] == 1 && change.gained[GPU_ECC_CORRECTED] == 0);
    CHECK(says(&change, "bad gpu_ecc: 1 uncorrected ECC error during none\n"
                        "note gpu_memory: 3 memory rows remapped after corrected errors during "
                        "none\n"
                        "note gpu_pcie: 2 PCIe replays during none\n"
                        "bad gpu_nvlink: 4 restarts of an NVLink during none\n"));
    return 0;
}

/* A counter that falls was reset; a missing counter says nothing. */
DRIVER_TEST(watch_takes_no_reset_for_errors,
            "uncorrected0=7 uncorrected_more0=-5 replays0=fails limited_heat0=9000 "
            "limited_heat_more0=-1")
{
    unsigned n = 0;
    struct gpu_change change = watch(NULL, &n);
    CHECK(n == 2 && change.gained[GPU_ECC_UNCORRECTED] == -1);
    CHECK(change.gained[GPU_PCIE_REPLAYS] == -1 && change.gained[GPU_ECC_CORRECTED] == 0);
    CHECK(isnan(change.thermal_share) && says(&change, ""));
    return 0;
}

static int check_link_wakes_up(void)
{
    unsigned n = 0;
    struct gpu_change change = watch("throttle=0x4 gen=5 width=16", &n);
    CHECK(change.pcie_generation == 5 && change.pcie_width == 16 && says(&change, ""));
    return 0;
}

static int check_link_stays_slow(void)
{
    unsigned n = 0;
    struct gpu_change change = watch("throttle=0x4 gen=1 width=8", &n);
    CHECK(change.pcie_generation == 1 && change.pcie_generation_most == 5);
    CHECK(says(&change, "bad gpu_pcie: PCIe gen 1 of 5 under load, during none\n"
                        "bad gpu_pcie: PCIe width x8 of x16 under load, during none\n"));
    return 0;
}

static int check_link_never_loaded(void)
{
    unsigned n = 0;
    struct gpu_change change = watch(NULL, &n);
    CHECK(change.pcie_generation == -1 && change.pcie_width == -1 && says(&change, ""));
    return 0;
}

/* An Xid 45 precedes it, which only says that a process was ended. */
static int check_xid(void)
{
    unsigned n = 0;
    struct gpu_change change = watch(NULL, &n);
    CHECK(change.xid == 79);
    CHECK(says(&change, "bad gpu_xid: Xid 79 during none: the kernel's log says more\n"));
    change = watch("", &n);
    CHECK(n == 2 && change.xid == 0);
    return 0;
}

static int check_heat(void)
{
    unsigned n = 0;
    struct gpu_change change = watch(NULL, &n);
    CHECK(change.thermal_share > 0);
    return 0;
}

static int check_nothing_known(void)
{
    unsigned n = 7;
    struct gpu_change change = watch(NULL, &n);
    CHECK(n == 2 && says(&change, "") && change.pcie_generation == -1);
    for (int i = 0; i < GPU_COUNTERS; i++)
        CHECK(change.gained[i] == -1);
    return 0;
}

static int check_no_nvml(void)
{
    unsigned n = 7;
    (void)watch(NULL, &n);
    CHECK(n == 0);
    return 0;
}

TEST(watch_what_changes)
{
    fixture_driver_check("FULL", "corrected=9 uncorrected=2 rows=1", check_good);
    fixture_driver_check("FULL",
                         "corrected0=9 uncorrected0=2 uncorrected_more0=1 rows_more0=3 "
                         "replays_more0=2 recoveries_more0=4",
                         check_errors);
}

TEST(watch_links_under_load)
{
    static const char idle[] = "throttle=0x1 gen=1 width=16";
    fixture_driver_check("FULL", idle, check_link_wakes_up);
    fixture_driver_check("FULL", idle, check_link_stays_slow);
    fixture_driver_check("FULL", idle, check_link_never_loaded);
}

TEST(watch_xids_and_heat)
{
    fixture_driver_check("FULL", "xid0=79", check_xid);
    fixture_driver_check("FULL", "limited_heat0=0 limited_heat_more0=1000000000", check_heat);
}

TEST(watch_does_without_what_is_absent)
{
    fixture_driver_check("BARE", NULL, check_nothing_known);
    fixture_driver_check("FULL", "fields=fails gen_link=fails width_max=fails",
                         check_nothing_known);
    fixture_driver_check("BROKEN", NULL, check_no_nvml);
}

TEST(watch_sums_by_kind)
{
    struct gpu_change change = {.pci_bdf = "0000:01:00.0",
                                .xid = 48,
                                .pcie_generation = 3,
                                .pcie_generation_most = 5,
                                .pcie_width = 16,
                                .pcie_width_most = 16};
    change.gained[GPU_NVLINK_REPLAYS] = 2;
    struct gpu_change sum = gpu_change_only(&change, GPU_KINDS);
    assert_true(says(&sum, ""));
    struct gpu_change part = gpu_change_only(&change, (enum gpu_kind)GPU_NVLINK_REPLAYS);
    gpu_change_add(&sum, &part);
    gpu_change_add(&sum, &part);
    assert_true(says(&sum, "note gpu_nvlink: 4 NVLink replays during none\n"));
    part = gpu_change_only(&change, GPU_LINK);
    assert_true(says(&part, "bad gpu_pcie: PCIe gen 3 of 5 under load, during none\n"));
    part.pcie_generation = 1;
    sum = gpu_change_only(&change, GPU_XID);
    gpu_change_add(&sum, &part);
    assert_true(says(&sum, "bad gpu_xid: Xid 48 during none: the kernel's log says more\n"
                           "bad gpu_pcie: PCIe gen 1 of 5 under load, during none\n"));
}

TEST(watch_sums_keep_the_hottest)
{
    static const double heats[] = {NAN, 0.25, 0.75, 0.5, NAN};
    static const double hottest[] = {NAN, 0.25, 0.75, 0.75, 0.75};
    struct gpu_change change = {.xid = 0}, sum = gpu_change_only(&change, GPU_KINDS);
    for (size_t i = 0; i < sizeof(heats) / sizeof(heats[0]); i++) {
        change.thermal_share = heats[i];
        gpu_change_add(&sum, &change);
        assert_true(isnan(hottest[i]) ? isnan(sum.thermal_share) : sum.thermal_share == hottest[i]);
    }
}
