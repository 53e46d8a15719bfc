#include <sched.h>
#include <sys/stat.h>

#include "harness/machine/gpu_health.h"
#include "harness/machine/topo.h"
#include "harness/machine/topo_gpu.h"
#include "harness/record/json_machine.h"
#include "tests/lib/fixture_driver.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

TEST(topo_synthetic)
{
    struct topo topo =
        fixture_topo("package:2 numa:1(memory=2GB) l3:2(size=8MB) core:3 pu:2", NULL);
    assert_int_equal(topo.ncpus, 24);
    assert_int_equal(topo.ncores, 12);
    assert_int_equal(topo.nllcs, 4);
    assert_int_equal(topo.npackages, 2);
    assert_int_equal(topo.nnodes, 2);
    assert_int_equal(topo.nkinds, 1);
    assert_int_equal(topo.llc_level, 3);
    assert_int_equal(topo.ngpus, 0);
    assert_false(topo.is_this_machine);
    const struct topo_cpu *last = fixture_find_cpu(&topo, 23);
    assert_non_null(last);
    assert_int_equal(last->core, 11);
    assert_int_equal(last->smt, 1);
    assert_int_equal(last->llc, 3);
    assert_int_equal(last->package, 1);
    assert_int_equal(last->node, 1);
    assert_true(last->allowed);
    fixture_assert_list(&topo.nodes[1].cpus, "12-23");
    assert_int_equal(topo.nodes[1].memory_bytes, 2000000000);
    topo_free(&topo);
}

TEST(topo_without_caches_has_one_llc_a_package)
{
    AUTO(topo) topo = fixture_topo("package:3 core:2 pu:1", NULL);
    assert_int_equal(topo.nllcs, 3);
    assert_int_equal(topo.llc_level, 0);
    assert_int_equal(fixture_find_cpu(&topo, 5)->llc, 2);
    topo_free(&topo);
    topo = fixture_topo("package:1 l2:2 core:2 pu:1", NULL);
    assert_int_equal(topo.nllcs, 2);
    assert_int_equal(topo.llc_level, 2);
}

TEST(topo_this_machine)
{
    struct topo_options options = {0};
    AUTO(topo) topo;
    struct bitset allowed = {0};
    assert_int_equal(topo_load(&options, &topo, NULL), 0);
    assert_true(topo.is_this_machine);
    topo_allowed_cpus(&topo, &allowed);
    cpu_set_t affinity;
    assert_int_equal(sched_getaffinity(0, sizeof(affinity), &affinity), 0);
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        assert_true(!bitset_test(&allowed, i) || CPU_ISSET(i, &affinity));
    assert_false(bitset_empty(&allowed));
}

TEST(topo_bad_input)
{
    static const struct {
        const char *xml;
        int rc;
    } cases[] = {
        {"/nonexistent/machine.xml", -ENOENT},
        {"/tmp", -EINVAL},
        {"", -EINVAL},
        {"no such thing", -EINVAL},
        {"pu:0", -EINVAL},
        {"core:2 pu:", -EINVAL},
        {"pu:9000", -EINVAL},
        {"[", -EINVAL},
        {"package:1000000 pu:1000000", -EINVAL},
        {"pu:-1", -EINVAL},
    };
    struct topo topo;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        assert_int_equal(fixture_load_topo(cases[i].xml, &topo, &err), cases[i].rc);
        assert_int_equal(err.code, cases[i].rc);
        assert_has(err.msg, cases[i].xml);
        topo_free(&topo);
    }
}

TEST(topo_fake_gpus)
{
    struct topo topo = fixture_topo("package:2 numa:1 core:2 pu:1", "0000:02:00.0@1,03:00.0");
    assert_int_equal(topo.ngpus, 2);
    assert_int_equal(topo.gpus[0].node, 1);
    assert_int_equal(topo.gpus[0].source, TOPO_OPTION);
    fixture_assert_list(&topo.gpus[0].cpus, "2-3");
    assert_string_equal(topo.gpus[1].pci_bdf, "0000:03:00.0");
    assert_int_equal(topo.gpus[1].node, -1);
    assert_int_equal(topo.gpus[1].cuda_ordinal, 1);
    topo_free(&topo);
    static const char *const bad[] = {"", "x", "01:00.0@", "01:00.0@9", "01:00.0@0x", "01:00.0,"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct topo_options options = {.xml = "package:2 numa:1 core:2 pu:1",
                                             .fake_gpus = bad[i]};
        assert_int_equal(topo_load(&options, &topo, NULL), -EINVAL);
        topo_free(&topo);
    }
}

TEST(topo_normalises_pci_addresses)
{
    char bdf[PCI_BDF_MAX];
    assert_int_equal(pci_bdf_normalise("00000000:3B:00.0", bdf), 0);
    assert_string_equal(bdf, "0000:3b:00.0");
    assert_int_equal(pci_bdf_normalise("5e:1f.7", bdf), 0);
    assert_string_equal(bdf, "0000:5e:1f.7");
    assert_int_equal(pci_bdf_normalise("00010000:00:06.0", bdf), 0);
    assert_string_equal(bdf, "10000:00:06.0");
    static const char *const bad[] = {"",
                                      "0000",
                                      "../../x",
                                      "00:06.0/..",
                                      "00:06",
                                      "00:06.0 ",
                                      "00:06.8",
                                      "00:20.0",
                                      "100:00.0",
                                      "0:00:06.0:",
                                      "0x0:00:06.0",
                                      "-1:00.0",
                                      "100000000:00:00.0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(pci_bdf_normalise(bad[i], bdf), -EINVAL);
}

TEST(topo_locates_gpus_by_evidence)
{
    static const struct {
        struct gpu_evidence evidence; /* sysfs, nvml, hwloc */
        int node;
        enum topo_source source;
        const char *note;
    } cases[] = {
        {{1, 1, 1}, 1, TOPO_SYSFS, NULL},
        {{1, -2, -2}, 1, TOPO_SYSFS, NULL},
        {{0, 1, 0}, 0, TOPO_SYSFS, "sysfs says NUMA node 0, NVML says node 1"},
        {{-1, 1, -2}, 1, TOPO_NVML, "-1 (unknown); NVML says node 1"},
        {{-2, -2, 0}, 0, TOPO_HWLOC, "its PCI bus is near node 0"},
        {{-1, -1, -2}, -1, TOPO_UNKNOWN, "virtual machines"},
        {{7, -2, -2}, -1, TOPO_UNKNOWN, "does not list"},
    };
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:2 pu:1", NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topo_gpu gpu = {.node = 5};
        topo_locate_gpu(&topo, &cases[i].evidence, &gpu);
        assert_int_equal(gpu.node, cases[i].node);
        assert_int_equal(gpu.source, cases[i].source);
        assert_int_equal(bitset_empty(&gpu.cpus), gpu.node < 0);
        if (cases[i].note)
            assert_has(gpu.note, cases[i].note);
        else
            assert_string_equal(gpu.note, "");
    }
}

TEST(topo_throttling_that_is_noise)
{
    assert_false(gpu_throttle_is_noise(0));
    assert_false(gpu_throttle_is_noise(0x1 | 0x2 | 0x4 | 0x10 | 0x100));
    assert_true(gpu_throttle_is_noise(0x8));
    assert_true(gpu_throttle_is_noise(0x20));
    assert_true(gpu_throttle_is_noise(0x44));
    assert_true(gpu_throttle_is_noise(0x80));
}

DRIVER_TEST(topo_probes_a_full_driver, "")
{
    AUTO(topo) topo;
    CHECK(fixture_load_topo("package:2 numa:1(memory=1GB) core:2 pu:1", &topo, NULL) == 0);
    CHECK(topo_probe_gpus(false, &topo, NULL) == 0);
    CHECK(topo.ngpus == 3 && topo_visible_gpus(&topo) == 2);
    CHECK(!strcmp(topo.gpus[0].pci_bdf, "beef:08:00.0") && topo.gpus[0].cuda_ordinal == 0);
    CHECK(!strcmp(topo.gpus[1].pci_bdf, "beef:07:00.0") && topo.gpus[1].cuda_ordinal == 1);
    CHECK(!strcmp(topo.gpus[2].pci_bdf, "beef:09:00.0") && topo.gpus[2].cuda_ordinal == -1);
    CHECK(topo.gpus[0].node == 1 && topo.gpus[0].source == TOPO_NVML);
    CHECK(topo.gpus[1].node == 0 && topo.gpus[2].node == -1);
    CHECK(!strcmp(topo.gpus[0].name, "Fake ?[31m GPU 1") && !strcmp(topo.gpus[2].name, "NVML 2"));
    CHECK(!strcmp(topo.gpus[0].vbios, "96.00.1?") && !strcmp(topo.gpus[2].vbios, "96.00.2?"));
    CHECK(!strcmp(topo.gpus[1].uuid, "GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0"));
    CHECK(topo.gpu_note[0] == '\0');
    return 0;
}

DRIVER_TEST(topo_reads_the_state_of_a_gpu, "throttle=0x44")
{
    struct gpu_state gpu;
    char version[32];
    CHECK(gpu_state_read("beef:08:00.0", &gpu) == 0);
    CHECK(gpu.clock_mhz == 1501 && gpu.temperature_c == 40 && gpu.throttle_reasons == 0x44);
    CHECK(gpu_state_read("0000:00:00.0", &gpu) == -ENODEV);
    CHECK(gpu_driver_version(version, sizeof(version)) == 0 && !strcmp(version, "999.1"));
    return 0;
}

static int check_bare_driver(void)
{
    AUTO(topo) topo;
    struct gpu_state gpu;
    char version[32];
    CHECK(fixture_load_topo("package:2 numa:1(memory=1GB) core:2 pu:1", &topo, NULL) == 0);
    CHECK(topo_probe_gpus(false, &topo, NULL) == 0);
    CHECK(topo.ngpus == 2 && topo.gpus[0].node == -1 && topo.gpus[0].note[0]);
    CHECK(!topo.gpus[0].name[0] && !topo.gpus[0].uuid[0]);
    CHECK(gpu_state_read("beef:08:00.0", &gpu) == 0 && isnan(gpu.clock_mhz));
    CHECK(gpu_driver_version(version, sizeof(version)) == -ENOTSUP && !version[0]);
    return 0;
}

static int check_no_driver(void)
{
    AUTO(topo) topo;
    struct gpu_state gpu;
    CHECK(fixture_load_topo("package:2 numa:1(memory=1GB) core:2 pu:1", &topo, NULL) == 0);
    CHECK(topo_probe_gpus(false, &topo, NULL) == 0);
    CHECK(topo.ngpus == 0 && topo.gpu_note[0]);
    CHECK(gpu_state_read("beef:08:00.0", &gpu) == -ENOTSUP && isnan(gpu.temperature_c));
    return 0;
}

TEST(topo_probes_a_bare_driver)
{
    fixture_driver_check("BARE", NULL, check_bare_driver);
}

TEST(topo_survives_a_broken_driver)
{
    fixture_driver_check("BROKEN", NULL, check_no_driver);
}

TEST(topo_survives_no_driver)
{
    assert_int_equal(fixture_driver_in_child("/nonexistent/libcuda.so.1", NULL, check_no_driver),
                     0);
    /* A library without these calls, as after a failed installation. */
    assert_int_equal(fixture_driver_in_child("libm.so.6", NULL, check_no_driver), 0);
}

TEST(topo_json)
{
    AUTO(topo) topo = fixture_topo("package:2 numa:1 core:2 pu:2", "01:00.0@1,02:00.0");
    topo.cpus[0].allowed = false;
    put_text(topo.gpus[1].name, "\xff");
    json_auto_t *json = topo_to_json(&topo);
    assert_non_null(json);
    json_t *gpus = json_object_get(json, "gpus"), *cpus = json_object_get(json, "cpus");
    assert_string_equal(json_string_value(json_object_get(cpus, "all")), "0-7");
    assert_string_equal(json_string_value(json_object_get(cpus, "allowed")), "1-7");
    assert_int_equal(json_array_size(gpus), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(gpus, 0), "node")), 1);
    assert_true(json_is_null(json_object_get(json_array_get(gpus, 1), "node")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(gpus, 1), "name")), "?");
}
