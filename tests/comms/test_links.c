/* Bytes between made-up GPUs, assigned to given links. */
#include "harness/comms/total.h"
#include "tests/lib/unit.h"

enum { GPUS = 5 };
static struct comms_log logs[2] = {{.header.host = "a"}, {.header.host = "b"}};
static struct comms_gpu gpus[GPUS] = {
    {.log = &logs[0], .pci = "0000:01:00.0"},
    {.log = &logs[0], .pci = "0000:02:00.0"},
    {.log = &logs[0], .pci = "0000:03:00.0"},
    {.log = &logs[1], .pci = "0000:01:00.0"},
    {.rank = 4} /* without a log */
};
static uint64_t wire[GPUS * GPUS];
static const struct comms_total total = {.matrix = {.n = GPUS, .wire = wire}, .gpu = gpus};

static const char joined[] = COMMS_PORTS_COLUMNS
    "\n"
    "a,0000:01:00.0,nvlink,0000:02:00.0,4,100\n"
    "a,0000:02:00.0,nvlink,0000:01:00.0,4,100\n"
    "a,0000:01:00.0,pcie,,16,31.5\na,0000:02:00.0,pcie,,16,31.5\na,0000:03:00.0,pcie,,16,31.5\n";

static int parse(const char *text, struct comms_ports *ports, struct err *err)
{
    char copy[1024];
    int length = snprintf(copy, sizeof(copy), "%s", text);
    return comms_ports_parse(copy, (size_t)length, ports, err);
}

static void lay(const char *text, struct comms_links *links)
{
    AUTO(comms_ports) ports = {0};
    const struct comms_timeline timeline = {.span_ns = 2000000000};
    assert_int_equal(parse(text, &ports, NULL), 0);
    assert_int_equal(comms_links_make(&total, &ports, &timeline, links, NULL), 0);
}

static uint64_t bytes_over(const struct comms_links *links, const char *called)
{
    for (size_t i = 0; i < links->n; i++)
        if (!strcmp(comms_call_link(&total, &links->link[i]), called))
            return links->link[i].bytes;
    return 0;
}

/* NVLink if there is one, else PCIe, and the network between hosts; a busy slow link is hotter. */
TEST(pairs_take_the_shortest_way)
{
    AUTO(comms_links) links;
    memset(wire, 0, sizeof(wire));
    wire[0 * GPUS + 1] = 40000000000; /* NVLink: 0.4 s */
    wire[0 * GPUS + 2] = 31500000000; /* PCIe: 1 s */
    wire[1 * GPUS + 2] = 1000;
    wire[0 * GPUS + 3] = 77;
    wire[1 * GPUS + 4] = 5;
    wire[2 * GPUS + 2] = 9; /* within a GPU */
    lay(joined, &links);
    assert_int_equal(bytes_over(&links, "NVLink from GPU 0 to GPU 1"), 40000000000);
    assert_int_equal(bytes_over(&links, "PCIe out of GPU 0"), 31500000000);
    assert_int_equal(bytes_over(&links, "PCIe into GPU 2"), 31500001000);
    assert_int_equal(bytes_over(&links, "network out of a"), 77);
    assert_int_equal(bytes_over(&links, "network into b"), 77);
    assert_int_equal(links.unknown_bytes, 5);
    assert_string_equal(comms_call_link(&total, &links.link[0]), "PCIe into GPU 2");
    assert_true(fabs(comms_link_share(&links, &links.link[0]) - 0.5) < 1e-6);
}

TEST(a_switch_is_passed_out_and_in)
{
    AUTO(comms_links) links;
    memset(wire, 0, sizeof(wire));
    wire[0 * GPUS + 1] = 10;
    wire[2 * GPUS + 1] = 20;
    lay(COMMS_PORTS_COLUMNS "\na,0000:01:00.0,nvswitch,,18,450\na,0000:02:00.0,nvswitch,,18,0\n"
                            "a,0000:03:00.0,nvswitch,,18,450\n",
        &links);
    assert_int_equal(bytes_over(&links, "NVLink out of GPU 0, to the switch"), 10);
    assert_int_equal(bytes_over(&links, "NVLink into GPU 1, from the switch"), 30);
    for (size_t i = 0; i < links.n; i++)
        assert_true(isnan(comms_link_share(&links, &links.link[i])) == (links.link[i].gbps <= 0));
}

TEST(nothing_is_guessed_without_links)
{
    AUTO(comms_links) links;
    memset(wire, 0, sizeof(wire));
    wire[0 * GPUS + 1] = 10;
    lay(COMMS_PORTS_COLUMNS "\n", &links);
    assert_int_equal(links.n, 0);
    assert_int_equal(links.unknown_bytes, 10);
}

TEST(bad_links_are_refused_by_line)
{
    static const char *const bad[] = {
        "a,0000:01:00.0,pcie,,16\n",      "a,0000:01:00.0,pcie,,16,1,2\n",
        "a,nowhere,pcie,,16,1\n",         "a,0000:01:00.0,wire,,16,1\n",
        "a,0000:01:00.0,nvlink,,4,100\n", "a,0000:01:00.0,pcie,0000:02:00.0,16,1\n",
        "a,0000:01:00.0,pcie,,x,1\n",     "a,0000:01:00.0,pcie,,16,-1\n",
        "a,0000:01:00.0,pcie,,16,nan\n",  "\n",
    };
    struct comms_ports ports = {0};
    struct err err;
    assert_int_equal(parse("x\n", &ports, &err), -EINVAL);
    comms_ports_free(&ports);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[400];
        put_text(text, "%s%s", joined, bad[i]);
        assert_int_equal(parse(text, &ports, &err), -EINVAL);
        assert_has(err.msg, "line 7");
        assert_int_equal(ports.n, 0);
        comms_ports_free(&ports);
    }
}

TEST(rates_of_links)
{
    assert_true(18 * gpu_nvlink_gbps(6) > 449 && 18 * gpu_nvlink_gbps(6) < 451); /* H100 */
    assert_true(gpu_nvlink_gbps(5) <= 0 && gpu_nvlink_gbps(99) <= 0);
    assert_true(16 * gpu_pcie_lane_gbps(5) > 62 && 16 * gpu_pcie_lane_gbps(5) < 64);
    assert_true(gpu_pcie_lane_gbps(-1) <= 0 && gpu_pcie_lane_gbps(7) <= 0);
}
