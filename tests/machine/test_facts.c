/* harness/machine/facts*.c: reads existing values; missing values and garbage are unknown. */
#include "harness/machine/facts.h"

#include <sys/stat.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static struct topo topo;

static void read_all(struct facts *facts)
{
    const struct facts_request request = {.root = fixture_dir, .topo = &topo};
    assert_int_equal(facts_read(&request, facts, NULL), 0);
}

static void put_device(const char *bdf, const char *vendor, const char *class_code,
                       const char *width)
{
    char path[160];
    const struct {
        const char *name, *text;
    } files[] = {{"vendor", vendor},
                 {"class", class_code},
                 {"current_link_speed", "32.0 GT/s PCIe\n"},
                 {"max_link_speed", "32.0 GT/s PCIe\n"},
                 {"current_link_width", width},
                 {"max_link_width", "16\n"},
                 {"aer_dev_fatal", "Undefined 0\nTOTAL_ERR_FATAL 2\n"},
                 {"aer_dev_correctable", "RxErr 5\nTOTAL_ERR_COR 5\n"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        put_text(path, "/sys/bus/pci/devices/%s/%s", bdf, files[i].name);
        fixture_put(path, files[i].text);
    }
}

TEST_IN_DIR(facts_of_the_bus)
{
    AUTO(facts) facts;
    put_device("0000:3b:00.0", "0x10de\n", "0x030200\n", "8\n");
    put_device("0000:18:00.0", "0x15b3\n", "0x020700\n", "16\n");
    put_device("0000:c1:00.0", "0x10de\n", "0x068000\n", "255\n");
    put_device("not-an-address", "0x10de\n", "0x030200\n", "8\n");
    fixture_put("/sys/bus/pci/slots/5-1/address", "0000:3b:00\n");
    read_all(&facts);
    assert_int_equal(facts.pci, FACTS_READ);
    assert_int_equal(facts.ndevices, 3);
    assert_int_equal(facts.devices[0].kind, FACTS_NIC); /* sorted */
    const struct facts_device *gpu = facts_find_device(&facts, "0000:3B:00.0");
    assert_non_null(gpu);
    assert_int_equal(gpu->kind, FACTS_GPU);
    assert_int_equal(gpu->lanes, 8);
    assert_int_equal(gpu->lanes_max, 16);
    assert_int_equal(gpu->lanes_slot, -1);
    assert_true(gpu->gts == 32);
    assert_int_equal(gpu->aer_fatal, 2);
    assert_int_equal(gpu->aer_nonfatal, -1);
    assert_int_equal(gpu->aer_correctable, 5);
    assert_string_equal(facts_device_name(gpu), "0000:3b:00.0 (slot 5-1)");
    assert_int_equal(facts.devices[2].kind, FACTS_NVSWITCH);
    assert_int_equal(facts.devices[2].lanes, -1); /* 255 is no width */
    assert_null(facts_find_device(&facts, "0000:ff:00.0"));
}

TEST_IN_DIR(facts_of_the_kernel_log)
{
    AUTO(facts) facts;
    fixture_put("/dev/kmsg",
                "6,100,1500000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the "
                "bus.\n SUBSYSTEM=pci\n"
                "6,101,2500000,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the "
                "bus.\n"
                "6,102,3000000,-;nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, "
                "Link 2\n"
                "4,103,4000000,-;pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message "
                "received\n"
                "3,104,5000000,-;mce: [Hardware Error]: Machine check events logged\n"
                "3,105,6000000,-;Out of memory: Killed process 12 (a\033[31mb)\n"
                "3,105,6000000,-;Memory cgroup out of memory: Killed process 13 (c)\n"
                "3,105,6100000,-;Out of memory: Kill process 14 (d) score 900 or sacrifice child\n"
                "garbage without any fields\n"
                "6,106,7000000,-;eth0: link up\n");
    read_all(&facts);
    assert_int_equal(facts.log, FACTS_READ);
    assert_int_equal(facts.nevents, 5);
    assert_int_equal(facts.events[0].kind, EVENT_XID);
    assert_int_equal(facts.events[0].number, 79);
    assert_int_equal(facts.events[0].count, 2);
    assert_true(facts.events[0].first_s == 1.5 && facts.events[0].last_s == 2.5);
    assert_string_equal(facts.events[0].unit, "0000:3b:00");
    assert_int_equal(facts.events[1].kind, EVENT_SXID);
    assert_int_equal(facts.events[1].number, 12028);
    assert_int_equal(facts.events[2].kind, EVENT_AER_UNCORRECTED);
    assert_string_equal(facts.events[2].unit, "0000:00:01.0");
    assert_int_equal(facts.events[3].kind, EVENT_MACHINE_CHECK);
    assert_int_equal(facts.events[4].kind, EVENT_OUT_OF_MEMORY);
    assert_int_equal(facts.events[4].count, 2); /* not by a container's limit */
    assert_null(strchr(facts.events[4].line, '\033'));
}

/* Structures as DSP0134 has them: header, formatted part, strings, an empty string. */
struct tables {
    unsigned char bytes[2048];
    size_t n;
};

static void put_structure(struct tables *tables, const unsigned char *formatted, size_t length,
                          const char *strings, size_t size)
{
    memcpy(tables->bytes + tables->n, formatted, length);
    memcpy(tables->bytes + tables->n + length, strings, size);
    tables->n += length + size;
}

static void put_tables(const struct tables *tables)
{
    char path[256];
    fixture_put("/sys/firmware/dmi/tables/DMI", "");
    put_text(path, "%s/sys/firmware/dmi/tables/DMI", fixture_dir);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(tables->bytes, 1, tables->n, file), tables->n);
    assert_int_equal(fclose(file), 0);
}

static void put_dimm(struct tables *tables, unsigned size_mib, unsigned rated, unsigned configured,
                     const char *strings, size_t strings_size)
{
    unsigned char dimm[0x5c] = {17, sizeof(dimm)};
    dimm[0x0a] = 64;
    dimm[0x0c] = (unsigned char)size_mib;
    dimm[0x0d] = (unsigned char)(size_mib >> 8);
    dimm[0x10] = 1;
    dimm[0x11] = 2;
    dimm[0x15] = (unsigned char)rated;
    dimm[0x16] = (unsigned char)(rated >> 8);
    dimm[0x20] = (unsigned char)configured;
    dimm[0x21] = (unsigned char)(configured >> 8);
    put_structure(tables, dimm, sizeof(dimm), strings, strings_size);
}

static void make_tables(struct tables *tables)
{
    unsigned char socket[0x30] = {4, sizeof(socket)}, large[0x5c] = {17, sizeof(large)};
    static const char named[] = "DIMM_A1  \0BANK 0\0", unnamed[] = "\0";
    socket[0x04] = 1;
    socket[0x18] = 0x41; /* populated, enabled */
    socket[0x23] = 0xff; /* counts above 254 are in the wide fields */
    socket[0x24] = 0xff;
    socket[0x2a] = 0x2c;
    socket[0x2b] = 0x01;
    socket[0x2c] = 0x2b;
    socket[0x2d] = 0x01;
    put_structure(tables, socket, sizeof(socket), "CPU0\0", 6);
    put_dimm(tables, 16384, 4800, 4400, named, sizeof(named));
    put_dimm(tables, 0, 0, 0, unnamed, 2); /* an empty slot */
    large[0x0c] = 0xff;
    large[0x0d] = 0x7f;
    large[0x1d] = 0x00;
    large[0x1e] = 0x01; /* 0x10000 MiB */
    put_structure(tables, large, sizeof(large), unnamed, 2);
}

TEST_IN_DIR(facts_of_the_firmware)
{
    AUTO(facts) facts;
    struct tables tables = {.n = 0};
    make_tables(&tables);
    put_tables(&tables);
    read_all(&facts);
    assert_int_equal(facts.dmi, FACTS_READ);
    assert_int_equal(facts.nsockets, 1);
    assert_string_equal(facts.sockets[0].name, "CPU0");
    assert_true(facts.sockets[0].populated && facts.sockets[0].enabled);
    assert_int_equal(facts.sockets[0].cores, 300);
    assert_int_equal(facts.sockets[0].cores_enabled, 299);
    assert_int_equal(facts.ndimms, 3);
    assert_string_equal(facts.dimms[0].locator, "DIMM_A1");
    assert_string_equal(facts.dimms[0].bank, "BANK 0");
    assert_int_equal(facts.dimms[0].size_mib, 16384);
    assert_int_equal(facts.dimms[0].rated_mts, 4800);
    assert_int_equal(facts.dimms[0].configured_mts, 4400);
    assert_int_equal(facts.dimms[0].data_bits, 64);
    assert_int_equal(facts.dimms[1].size_mib, 0);
    assert_int_equal(facts.dimms[1].configured_mts, -1);
    assert_int_equal(facts.dimms[2].size_mib, 0x10000);
}

/* Truncated anywhere, the tables are read up to that place. */
TEST_IN_DIR(facts_survive_cut_tables)
{
    struct tables whole = {.n = 0};
    make_tables(&whole);
    for (size_t n = 0; n < whole.n; n++) {
        AUTO(facts) facts;
        struct tables cut = whole;
        cut.n = n;
        put_tables(&cut);
        facts_init(&facts);
        assert_int_equal(facts_read_dmi(fixture_dir, &facts, NULL), 0);
        assert_true(facts.ndimms <= 3 && facts.nsockets <= 1);
    }
}

TEST_IN_DIR(facts_of_settings_and_counters)
{
    AUTO(facts) facts;
    fixture_put("/sys/devices/system/cpu/present", "0-7\n");
    fixture_put("/sys/devices/system/cpu/online", "0-3,6\n");
    fixture_put("/sys/devices/system/cpu/smt/control", "off\n");
    fixture_put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
    fixture_put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
    fixture_put("/proc/interrupts", "      CPU0 CPU1\nNMI: 1 2 x\nMCE:   1    2   Machine check "
                                    "exceptions\nMCP:  9 9 polls\n");
    fixture_put("/proc/meminfo", "MemTotal: 1024 kB\nSwapTotal:  100 kB\nSwapFree:  40 kB\n");
    fixture_put("/sys/devices/system/edac/mc/mc0/ce_count", "7\n");
    fixture_put("/sys/devices/system/edac/mc/mc0/ue_count", "0\n");
    fixture_put("/sys/devices/system/edac/mc/mc0/dimm3/dimm_ce_count", "7\n");
    fixture_put("/sys/devices/system/edac/mc/mc0/dimm3/dimm_ue_count", "0\n");
    fixture_put("/sys/devices/system/edac/mc/mc0/dimm3/dimm_label", "CPU0_DIMM_C1\n");
    fixture_put("/sys/class/infiniband/mlx5_0/node_desc", "x\n");
    fixture_put("/sys/module/nvidia_peermem/refcnt", "0\n");
    fixture_put("/.dockerenv", "");
    read_all(&facts);
    assert_int_equal(facts.cpus_present, 8);
    assert_int_equal(facts.cpus_online, 5);
    assert_string_equal(facts.smt, "off");
    assert_true(facts.throttle_events == 7);
    assert_true(facts.machine_checks == 3);
    assert_true(facts.swap_used_bytes == 60 * 1024);
    assert_int_equal(facts.nedac, 1); /* the module with a count, not its controller */
    assert_string_equal(facts.edacs[0].name, "CPU0_DIMM_C1");
    assert_int_equal(facts.edacs[0].corrected, 7);
    assert_true(facts.rdma && facts.peermem && facts.container);
}

static void put_port(const char *port, const char *state, const char *physical, const char *rate)
{
    char path[160];
    const struct {
        const char *name, *text;
    } files[] = {{"state", state},
                 {"phys_state", physical},
                 {"rate", rate},
                 {"counters/symbol_error", "3\n"},
                 {"counters/link_downed", "12\n"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        put_text(path, "/sys/class/infiniband/%s/%s", port, files[i].name);
        fixture_put(path, files[i].text);
    }
}

TEST_IN_DIR(facts_of_rdma)
{
    AUTO(facts) facts;
    put_port("mlx5_1/ports/1", "1: DOWN\n", "3: Disabled\n", "10 Gb/sec (4X SDR)\n");
    put_port("mlx5_0/ports/2", "4: ACTIVE\n", "5: LinkUp\n", "2.5 Gb/sec (1X SDR)\n");
    put_port("mlx5_0/ports/1", "rubbish\n", "-7: x\n", "fast\n");
    fixture_put("/sys/class/infiniband/mlx5_0/board_id", "MT_0000000838\n");
    fixture_put("/sys/class/infiniband/mlx5_1/hca_type", "MT4129\n");
    read_all(&facts);
    assert_int_equal(facts.nports, 3);
    assert_string_equal(facts.ports[0].name, "mlx5_0 port 1"); /* sorted */
    assert_int_equal(facts.ports[0].state, -1);
    assert_int_equal(facts.ports[0].physical, -1);
    assert_true(isnan(facts.ports[0].rate_gbps) && isnan(facts.ports[0].recoveries));
    assert_int_equal(facts.ports[1].state, 4);
    assert_int_equal(facts.ports[1].physical, 5);
    assert_true(facts.ports[1].rate_gbps == 2.5 && facts.ports[1].downs == 12);
    assert_true(facts.ports[1].symbol_errors == 3);
    assert_string_equal(facts.ports[1].model, "MT_0000000838");
    assert_string_equal(facts.ports[2].model, "MT4129");
}

TEST_IN_DIR(facts_of_nothing)
{
    AUTO(facts) facts;
    read_all(&facts);
    assert_int_equal(facts.pci, FACTS_ABSENT);
    assert_int_equal(facts.dmi, FACTS_ABSENT);
    assert_int_equal(facts.edac, FACTS_ABSENT);
    assert_int_equal(facts.log, FACTS_ABSENT);
    assert_int_equal(facts.cpus_present, -1);
    assert_true(isnan(facts.steal) && isnan(facts.machine_checks) && isnan(facts.shm_bytes));
    assert_false(facts.container || facts.rdma || facts.peermem);
}

/* Files without permission differ from missing files. */
TEST_IN_DIR(facts_denied)
{
    AUTO(facts) facts;
    char path[256];
    fixture_put("/sys/firmware/dmi/tables/DMI", "x");
    fixture_put("/dev/kmsg", "x");
    put_text(path, "%s/sys/firmware/dmi/tables/DMI", fixture_dir);
    assert_int_equal(chmod(path, 0), 0);
    if (access(path, R_OK) == 0) {
        print_message("root reads every file\n");
        skip();
    }
    put_text(path, "%s/dev/kmsg", fixture_dir);
    assert_int_equal(chmod(path, 0), 0);
    read_all(&facts);
    assert_int_equal(facts.dmi, FACTS_DENIED);
    assert_int_equal(facts.log, FACTS_DENIED);
}

/* Merges two readings: the better value counts, "lost" in either one is lost, a failed reading adds
 * nothing. */
TEST(looks_are_joined)
{
    struct facts_value first[] = {
        {.metric = "rate", .key = "cpu=0", .value = 80, .better = "higher"},
        {.metric = "rate", .key = "cpu=1", .value = 90, .better = "higher"},
        {.metric = "rate", .key = "cpu=2", .value = NAN, .why = "wrong"},
        {.metric = "late", .key = "", .value = 5, .better = "lower"},
        {.metric = "size", .key = "", .value = 1, .better = "none"}};
    struct facts_value second[] = {
        {.metric = "rate", .key = "cpu=0", .value = 100, .better = "higher"},
        {.metric = "rate", .key = "cpu=1", .value = NAN, .why = "gone", .better = "higher"},
        {.metric = "rate", .key = "cpu=2", .value = 100, .better = "higher"},
        {.metric = "late", .key = "", .value = 3, .better = "lower"},
        {.metric = "rate", .key = "cpu=3", .value = 70, .better = "higher"}};
    struct facts_probe probe = {.status = PROBE_DONE};
    struct facts_probe again = {.status = PROBE_HUNG, .n = 5, .values = second};
    for (int i = 0; i < 5; i++)
        assert_int_equal(facts_put(&probe, &first[i], NULL), 0);
    assert_int_equal(facts_join_repeats(&probe, &again, NULL), 0);
    assert_true(probe.n == 5 && probe.values[0].value == 80);
    again.status = PROBE_DONE;
    assert_int_equal(facts_join_repeats(&probe, &again, NULL), 0);
    assert_int_equal(probe.n, 6);
    assert_true(probe.values[0].value == 100 && isnan(probe.values[1].value));
    assert_string_equal(probe.values[1].why, "gone");
    assert_true(isnan(probe.values[2].value) && probe.values[3].value == 3);
    assert_true(probe.values[4].value == 1 && probe.values[5].value == 70);
    free(probe.values);
}
