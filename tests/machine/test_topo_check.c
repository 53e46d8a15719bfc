/* Findings about a machine: hidden and isolated CPUs, nodes without memory, GPUs of other
 * vendors. */
#include "harness/machine/topo_check.h"

#include "tests/lib/fixture_machines.h"
#include "tests/lib/unit.h"

/* Four CPUs on two nodes, all allowed. */
static struct topo_cpu cpus[4];
static struct topo_node nodes[2];

static struct topo make(void)
{
    for (unsigned i = 0; i < 4; i++)
        cpus[i] = (struct topo_cpu){.os_cpu = i, .core = (int)i, .allowed = true};
    for (unsigned i = 0; i < 2; i++) {
        nodes[i] = (struct topo_node){.os_node = i, .memory_bytes = 1 << 30, .allowed = true};
        bitset_set(&nodes[i].cpus, 2 * i);
        bitset_set(&nodes[i].cpus, 2 * i + 1);
    }
    return (struct topo){.ncpus = 4, .nnodes = 2, .cpus = cpus, .nodes = nodes};
}

static void expect(const struct topo *topo, const char *all)
{
    AUTO(findings) findings = {0};
    char found[400] = "";
    size_t used = 0;
    topo_check(topo, &findings);
    for (size_t i = 0; i < findings.n; i++)
        used += (size_t)snprintf(found + used, sizeof(found) - used, "%s%s %s", i ? "; " : "",
                                 findings.all[i].id, findings.all[i].subject);
    assert_string_equal(found, all);
}

TEST(a_usual_machine_has_none)
{
    struct topo topo = make();
    expect(&topo, "");
    memset(nodes, 0, sizeof(nodes)); /* sizes not reported, as in some virtual machines */
    nodes[0].allowed = nodes[1].allowed = true;
    expect(&topo, "");
}

TEST(cpus_beside_the_usual_are_told)
{
    struct topo topo = make();
    bitset_set(&topo.hidden, 1);
    bitset_set(&topo.hidden, 9); /* the topology does not contain it */
    expect(&topo, "cpus_hidden CPU 1; cpus_unknown CPU 9");
    topo.hidden = (struct bitset){0};
    cpus[3].allowed = false;
    for (unsigned i = 1; i < 4; i++)
        bitset_set(&topo.isolated, i);
    expect(&topo, "cpus_isolated CPUs 1-2; cpus_isolated_out CPU 3");
}

TEST(nodes_without_memory_are_told)
{
    struct topo topo = make();
    nodes[1].memory_bytes = 0;
    nodes[1].allowed = false;
    expect(&topo, "node_no_memory NUMA node 1");
    assert_true(topo_lacks_memory(&topo, &cpus[2]));
    assert_false(topo_lacks_memory(&topo, &cpus[1]));
    assert_int_equal(topo_memory_node(&topo, 1), 0);
    cpus[2].allowed = cpus[3].allowed = false; /* no process may run there */
    expect(&topo, "");
    topo = make();
    nodes[0].allowed = false; /* by cpuset.mems */
    expect(&topo, "node_memory_refused NUMA node 0");
    assert_int_equal(topo_memory_node(&topo, 0), 1);
    topo.nnodes = 0; /* no node is known */
    expect(&topo, "");
}

/* Ordinary memory comes first, then distance, then the same package; equal ones in turn. */
TEST(memory_of_a_node_without_is_the_nearest)
{
    static unsigned far[4 * 4] = {0};
    struct topo_node some[4] = {{.memory_bytes = 1, .allowed = true},
                                {.memory_bytes = 1, .allowed = true},
                                {.memory_bytes = 1, .allowed = true, .kind = "HBM", .package = -1},
                                {.package = 1}};
    struct topo topo = {.nnodes = 4, .nodes = some};
    bitset_set(&some[3].cpus, 0);
    assert_int_equal(topo_memory_node(&topo, 1), 1);
    assert_int_equal(topo_memory_node(&topo, 3), 0);
    some[1].package = 1;
    assert_int_equal(topo_memory_node(&topo, 3), 1);
    topo.distances = far;
    far[3 * 4 + 0] = 16;
    far[3 * 4 + 1] = 22;
    assert_int_equal(topo_memory_node(&topo, 3), 0);
    some[0].allowed = false;
    assert_int_equal(topo_memory_node(&topo, 3), 1);
    some[1].allowed = false;
    assert_int_equal(topo_memory_node(&topo, 3), 2);
    some[2].allowed = false;
    assert_int_equal(topo_memory_node(&topo, 3), -1);
}

TEST(gpus_of_others_are_counted)
{
    static const struct {
        unsigned vendor, class_code;
        const char *said;
    } devices[] = {{0x10de, 0x0302, ""},
                   {0x1a03, 0x0300, ""}, /* a management controller's VGA */
                   {0x8086, 0x0300, ""}, /* a CPU's graphics */
                   {0x1002, 0x0200, ""}, /* no GPU */
                   {0x1002, 0x1200, "1 AMD GPU is there; contend measures NVIDIA's"},
                   {0x1002, 0x0380, "2 AMD GPUs are there; contend measures NVIDIA's"},
                   {0x8086, 0x0380, "2 AMD GPUs, 1 Intel GPU are there; contend measures NVIDIA's"},
                   {0x1da3, 0x1200,
                    "2 AMD GPUs, 1 Intel GPU, 1 Habana accelerator are there; contend measures "
                    "NVIDIA's"}};
    struct other_gpus others = {0};
    char said[96];
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        other_gpus_count(&others, devices[i].vendor, devices[i].class_code);
        assert_string_equal(other_gpus_format(&others, said, sizeof(said)), devices[i].said);
    }
}

/* Another machine's GPUs, from an XML file, are not for this machine's workers. */
TEST(gpus_of_others_are_read)
{
    FREED char *xml = fixture_machine_xml(fixture_machine("nps4_eight_gpus"));
    char path[] = "/tmp/XXXXXX.xml";
    AUTO(topo) topo;
    int fd = mkstemps(path, 4);
    for (char *at = xml; (at = strstr(at, "0302 [10de:")); at++)
        memcpy(at, "0380 [1002:", strlen("0380 [1002:"));
    assert_true(fd >= 0 && write(fd, xml, strlen(xml)) == (ssize_t)strlen(xml));
    assert_int_equal(topo_load(&(struct topo_options){.xml = path}, &topo, NULL), 0);
    assert_int_equal(topo.ngpus, 0);
    expect(&topo, "other_gpus GPUs");
    assert_int_equal(topo.other_gpus.of[0], 8);
    (void)close(fd);
    (void)unlink(path);
}
