/* Topologies from files: machines from tables, malformed files, and files that are no topology. */
#include <sys/wait.h>

#include <hwloc.h>

#include "harness/machine/topo.h"
#include "harness/record/json_machine.h"
#include "tests/lib/fixture_machines.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

static struct topo topo_of(const char *name)
{
    char path[] = "/tmp/contend-test-XXXXXX.xml";
    fixture_machine_write(fixture_machine(name), path);
    struct topo topo = fixture_topo(path, NULL);
    (void)unlink(path);
    return topo;
}

/* Writes bytes to a new file named after the mkstemps template `path`, loads and removes it. */
static int load_written(const char *bytes, size_t size, char *path, struct topo *topo,
                        struct err *err)
{
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    (void)close(fd);
    int rc = fixture_load_topo(path, topo, err);
    (void)unlink(path);
    return rc;
}

static int load_bytes(const char *bytes, size_t size, struct err *err)
{
    char path[] = "/tmp/contend-test-XXXXXX.xml";
    AUTO(topo) topo;
    int rc = load_written(bytes, size, path, &topo, err);
    return rc;
}

/*
 * Runs the check in a child, since hwloc reads the variable that selects its parser once a process.
 */
static void in_child(const char *parser, void (*check)(void *arg), void *arg)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        (void)setenv("HWLOC_LIBXML", parser, 1);
        check(arg);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define SETS                                                                                       \
    "cpuset='0x1' complete_cpuset='0x1' allowed_cpuset='0x1' nodeset='0x1' "                       \
    "complete_nodeset='0x1' allowed_nodeset='0x1'"
#define MACHINE "<object type='Machine' os_index='0' " SETS ">"
#define NODE "<object type='NUMANode' os_index='0' local_memory='4096' " SETS "/>"
#define PU "<object type='PU' os_index='0' " SETS "/>"

TEST(topo_malformed_xml)
{
    char noise[512];
    struct err err = {0};
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * 37 + i / 7);
    assert_int_equal(load_bytes("", 0, &err), -EINVAL);
    assert_int_equal(load_bytes(noise, sizeof(noise), &err), -EINVAL);
    assert_int_equal(load_bytes("<xml>", 5, &err), -EINVAL);
    assert_has(err.msg, ".xml");
}

static void check_refused(void *xml)
{
    struct err err = {0};
    int rc = load_bytes(xml, strlen(xml), &err);
    if (rc != -EINVAL || !strstr(err.msg, ".xml' as a topology XML; 'lstopo FILE.xml' writes one"))
        fail_msg("%s", err.msg);
}

TEST(topo_says_what_hwloc_refuses)
{
    char *const refused[] = {
        /* This one crashes hwloc 2.9's own parser. */
        "<topology version='2.0'><object type='Machine' os_index='0'><object type='PU' "
        "os_index='0'/></object></topology>",
        "<topology version='2.0'>" MACHINE "<object type='Train'/></object></topology>",
        "<topology version='2.0'>" MACHINE NODE PU,
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        in_child("0", check_refused, refused[i]);
        in_child("1", check_refused, refused[i]);
    }
}

static void check_newer(void *xml)
{
    struct err err = {0};
    int rc = load_bytes(xml, strlen(xml), &err);
    if (rc != -EINVAL || !strstr(err.msg, "is a file of hwloc 11, ") ||
        !strstr(err.msg, "'lstopo -i FILE --export-xml-flags v"))
        fail_msg("%s", err.msg);
}

TEST(topo_names_the_version_of_a_newer_file)
{
    char *const newer[] = {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
        "<topology version=\"11.0\">\n" MACHINE NODE PU "</object>\n</topology>\n",
        "<topology  version='11.2'>",
    };
    for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
        in_child("0", check_newer, newer[i]);
        in_child("1", check_newer, newer[i]);
    }
}

/* Prints the machine, to compare both of hwloc's parsers. */
static void dump(void *path)
{
    AUTO(topo) topo;
    char to[64];
    put_text(to, "%s.%s", (const char *)path, getenv("HWLOC_LIBXML"));
    assert_int_equal(fixture_load_topo(path, &topo, NULL), 0);
    json_auto_t *json = topo_to_json(&topo);
    assert_int_equal(json_dump_file(json, to, JSON_INDENT(1)), 0);
}

TEST(topo_is_the_same_by_both_parsers)
{
    for (const struct fixture_machine *machine = fixture_machines; machine->name; machine++) {
        char path[] = "/tmp/contend-test-XXXXXX.xml", to[2][sizeof(path) + 12];
        json_t *json[2];
        fixture_machine_write(machine, path);
        for (int parser = 0; parser < 2; parser++) {
            in_child(parser ? "1" : "0", dump, path);
            put_text(to[parser], "%s.%d", path, parser);
            json[parser] = json_load_file(to[parser], 0, NULL);
            (void)unlink(to[parser]);
        }
        assert_non_null(json[0]);
        if (!json_equal(json[0], json[1]))
            fail_msg("%s differs", machine->name);
        json_decref(json[0]);
        json_decref(json[1]);
        (void)unlink(path);
    }
}

TEST(topo_heterogeneous_memory)
{
    AUTO(topo) topo = topo_of("hbm_beside_dram");
    assert_int_equal(topo.nnodes, 8);
    assert_int_equal(topo.nllcs, 4);
    for (unsigned i = 0; i < topo.ncpus; i++)
        assert_string_equal(topo.nodes[topo.cpus[i].node].kind, "");
    int hbm = topo_node_index(&topo, 7);
    assert_string_equal(topo.nodes[hbm].kind, "HBM");
    assert_true(bitset_empty(&topo.nodes[hbm].cpus));
    fixture_assert_list(&topo.nodes[topo_node_index(&topo, 0)].cpus, "0-3,16-19,32-35,48-51");
}

TEST(topo_hybrid)
{
    unsigned min, max;
    AUTO(topo) topo = topo_of("hybrid_6p8e");
    assert_int_equal(topo.nkinds, 2);
    for (unsigned i = 0; i < topo.ncpus; i++)
        assert_int_equal(topo.cpus[i].kind, topo.cpus[i].os_cpu < 12);
    topo_threads_per_core(&topo, &min, &max);
    assert_int_equal(min, 1);
    assert_int_equal(max, 2);
    assert_int_equal(topo.caches[0].size_bytes, 48 << 10);
    assert_int_equal(topo.caches[0].count, 6);
    assert_int_equal(topo.caches[1].count, 8);
    assert_string_equal(topo_kind_name(&topo, 1), "performance");
    assert_string_equal(topo_kind_name(&topo, 0), "efficiency");
}

TEST(topo_three_kinds_of_cores)
{
    AUTO(topo) topo = topo_of("hybrid_2p8e2lpe");
    assert_int_equal(topo.nkinds, 3);
    assert_int_equal(fixture_find_cpu(&topo, 3)->kind, 2);
    assert_int_equal(fixture_find_cpu(&topo, 11)->kind, 1);
    assert_int_equal(fixture_find_cpu(&topo, 13)->kind, 0);
    assert_int_equal(topo.nllcs, 1); /* the L2 of the low-power cores is no last level */
    assert_int_equal(fixture_find_cpu(&topo, 11)->llc, 0);
    assert_int_equal(fixture_find_cpu(&topo, 13)->llc, 1);
    assert_string_equal(topo_kind_name(&topo, 2), "fastest");
    assert_string_equal(topo_kind_name(&topo, 1), "middle");
    assert_string_equal(topo_kind_name(&topo, 0), "slowest");
}

TEST(topo_kinds_that_differ_little_are_one)
{
    AUTO(topo) topo = topo_of("fast_and_slow_clusters");
    assert_int_equal(topo.nkinds, 2);
    for (unsigned i = 0; i < topo.ncpus; i++)
        assert_int_equal(topo.cpus[i].kind, topo.cpus[i].os_cpu / 5 % 2);
}

TEST(topo_nodes_that_are_not_listed)
{
    AUTO(topo) topo = topo_of("dies_without_memory");
    assert_int_equal(topo.nnodes, 4);
    for (int node = 0; node < 4; node++) {
        assert_int_equal(topo.nodes[node].os_node, node);
        assert_int_equal(topo.nodes[node].unlisted, node % 2);
        assert_int_equal(topo.nodes[node].allowed, !(node % 2));
        assert_int_equal(topo_memory_node(&topo, node), node & ~1); /* equally near: in turn */
    }
    fixture_assert_list(&topo.nodes[3].cpus, "24-31,56-63");
    assert_int_equal(topo.gpus[0].node, 1);
}

TEST(topo_allowed_subset)
{
    struct bitset set = {0};
    AUTO(topo) topo = topo_of("cgroup_of_four_cores");
    assert_int_equal(topo.ncpus, 64);
    topo_allowed_cpus(&topo, &set);
    fixture_assert_list(&set, "4-7,36-39");
    assert_true(topo.nodes[0].allowed);
    assert_false(topo.nodes[1].allowed);
}

TEST(topo_odd_numbers)
{
    struct bitset set = {0};
    AUTO(topo) topo = topo_of("gaps_in_numbers");
    topo_allowed_cpus(&topo, &set);
    fixture_assert_list(&set, "0,2,10,18");
    assert_int_equal(topo.gpus[0].node, -1);
    topo_free(&topo);
    topo = topo_of("superchips_gpu_memory");
    assert_int_equal(topo.nnodes, 6);
    assert_true(bitset_empty(&topo.nodes[topo_node_index(&topo, 26)].cpus));
    assert_int_equal(topo.gpus[2].node, 1);
    topo_free(&topo);
    topo = topo_of("cpus_1920");
    assert_int_equal(topo.ncpus, 1920);
    assert_int_equal(fixture_find_cpu(&topo, 1919)->package, 15);
}

TEST(topo_nodes_inside_a_cache)
{
    AUTO(topo) topo = topo_of("snc4_four_gpus");
    assert_int_equal(topo.nnodes, 8);
    assert_int_equal(topo.nllcs, 2);
    assert_int_equal(topo.distances[1], 12);
    assert_int_equal(topo.gpus[3].node, 6);
    fixture_assert_list(&topo.gpus[3].cpus, "84-97,196-209");
}

TEST(topo_gpus_of_xml)
{
    AUTO(topo) topo = topo_of("sixteen_gpus");
    assert_int_equal(topo.ngpus, 16);
    assert_int_equal(topo_visible_gpus(&topo), 16);
    for (unsigned i = 0; i < topo.ngpus; i++) {
        assert_int_equal(topo.gpus[i].cuda_ordinal, i);
        assert_int_equal(topo.gpus[i].node, i >= 8);
        assert_int_equal(topo.gpus[i].source, TOPO_HWLOC);
    }
    assert_string_equal(topo.gpus[0].pci_bdf, "0000:15:00.0");
    fixture_assert_list(&topo.gpus[15].cpus, "24-25");
    assert_int_equal(topo.distances[1], 21);
}
