/*
 * Made-up machines, good ones and faulty ones: what validate says of each, with and without
 * --machine. The bus, the CPUs, memory and settings are files below a root of their own and are
 * read as on a server. GPUs and their health replace NVML, and measured values are made up. The
 * test prints a table in Markdown if CONTEND_TABLE names a file.
 */
#include "harness/lib/text.h"
#include "harness/machine/gpu_driver.h"
#include "harness/validate/files.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_world.h"
#include "tests/lib/unit.h"

enum { GPUS_MOST = 8, ALL = -1 };

/* A good machine, by its data sheet and our results. */
static const struct base {
    const char *kind, *gpu, *cpu;
    unsigned ngpus, sockets;
    double gib, watts, stream, copy, busbw, memory;
    double bf16, fp8, fp64, peak[3];
    int generation, nvlinks;
    bool is_virtual;
} bases[] = {
    ENTRY("8xh100-sxm", "NVIDIA H100 80GB HBM3", "Intel(R) Xeon(R) Platinum 8480C", 8, 2, 79.6, 700,
          3060, 55, 330, 400, 688, 1310, 55, {989.5, 1979, 67}, 5, 18, false),
    ENTRY("2xh200-sxm", "NVIDIA H200", "Intel(R) Xeon(R) Processor", 2, 1, 140.4, 700, 4378, 55,
          242, 117, 696, 1320, 55.6, {989.5, 1979, 67}, 5, 18, true),
    ENTRY("1xl4", "NVIDIA L4", "AMD EPYC 7R13", 1, 1, 22.5, 72, 270, 26, 0, 100, 62, 110, 0,
          {121, 242.5, 0}, 4, 0, true),
    ENTRY("2xh100-pcie", "NVIDIA H100 PCIe", "AMD EPYC 9554", 2, 2, 79.6, 350, 1750, 52, 20, 600,
          480, 900, 45, {756.5, 1513, 51}, 5, 0, false),
    ENTRY("4xa100-sxm", "NVIDIA A100-SXM4-80GB", "AMD EPYC 7742", 4, 2, 80, 400, 1750, 25, 200, 280,
          260, 0, 18, {312, 0, 19.5}, 4, 12, false),
    ENTRY("2xl40s", "NVIDIA L40S", "AMD EPYC 9354", 2, 2, 45, 350, 740, 25, 15, 500, 230, 420, 0,
          {362, 733, 0}, 4, 0, false),
    ENTRY("1xb200-sxm", "NVIDIA B200", "INTEL(R) XEON(R) PLATINUM 8570", 1, 2, 179, 1000, 7000, 55,
          0, 500, 1600, 3000, 35, {2250, 4500, 37}, 5, 18, false),
    ENTRY("cpu-2s-epyc", NULL, "AMD EPYC 9654 96-Core Processor", 0, 2, .memory = 640),
    ENTRY("cpu-1s-epyc", NULL, "AMD EPYC 7302P 16-Core Processor", 0, 1, .memory = 130),
    ENTRY("cpu-2s-xeon", NULL, "Intel(R) Xeon(R) Gold 6248", 0, 2, .memory = 180),
    ENTRY("vm", NULL, "Intel(R) Xeon(R) Processor", 0, 1, .memory = 50, .is_virtual = true),
};

static struct world {
    struct topo topo;
    struct topo_cpu cpus[8];
    struct topo_node node;
    struct topo_gpu gpus[GPUS_MOST];
    struct gpu_health health[GPUS_MOST];
    struct facts facts;
} world;

static void measure(enum facts_probe_name name, const char *metric, const char *key, double number)
{
    struct facts_value value = {.value = number};
    text_set(value.metric, "%s", metric);
    text_set(value.key, "%s", key);
    if (number > 0)
        assert_int_equal(facts_put(&world.facts.probes[name], &value, NULL), 0);
    world.facts.probes[name].status = PROBE_DONE;
}

static void measure_gpu(const struct base *base, int gpu)
{
    static const char *const types[] = {"bf16", "fp8", "fp64"}, *const dirs[] = {"h2d", "d2h"},
                             *const with[] = {"alone", "all"};
    const double rates[] = {base->bf16, base->fp8, base->fp64};
    char key[FACTS_KEY_MAX];
    for (int w = 0; w < 2; w++) {
        put_text(key, "op=triad;via=kernel;with=%s;gpu=%d", with[w], gpu);
        measure(PROBE_GPU_STREAM, "device_bandwidth", key, base->stream);
        for (int d = 0; d < 2; d++) {
            put_text(key, "dir=%s;gpu=%d;node=0;mem=pinned;via=ce;with=%s", dirs[d], gpu, with[w]);
            measure(PROBE_GPU_COPY, "copy_bandwidth", key, base->copy);
        }
        for (int t = 0; t < 3; t++) {
            put_text(key, "type=%s;with=%s;gpu=%d", types[t], with[w], gpu);
            measure(PROBE_GPU_MATMUL, "matmul_rate", key, rates[t]);
            measure(PROBE_GPU_MATMUL, "matmul_peak_share", key, rates[t] / base->peak[t]);
        }
    }
}

static void put_gpu(const struct base *base, int gpu)
{
    struct gpu_health *health = &world.health[gpu];
    char path[96];
    gpu_health_init(health);
    health->memory_bytes = base->gib * 0x1p30;
    health->ecc = health->persistence = 1;
    health->ecc_uncorrected = health->ecc_uncorrected_life = 0;
    health->rows_pending = health->rows_failed = health->mig = health->nprocesses = 0;
    health->compute_mode = GPU_MODE_DEFAULT;
    health->nvlinks = health->nvlinks_active = base->nvlinks;
    health->pcie_width = health->pcie_width_max = 16;
    health->pcie_generation_link = health->pcie_generation_gpu = base->generation;
    health->power_limit_w = health->power_limit_default_w = base->watts;
    world.gpus[gpu] = (struct topo_gpu){.cuda_ordinal = gpu, .node = 0, .health = health};
    text_set(world.gpus[gpu].name, "%s", base->gpu);
    (void)snprintf(world.gpus[gpu].pci_bdf, PCI_BDF_MAX, "0000:%02x:00.0", gpu + 1);
    static const char *const files[][2] = {{"vendor", "0x10de\n"},
                                           {"class", "0x030200\n"},
                                           {"current_link_width", "16\n"},
                                           {"max_link_width", "16\n"}};
    for (int i = 0; i < (base->is_virtual ? 2 : 4); i++) {
        put_text(path, "/sys/bus/pci/devices/0000:%02x:00.0/%s", gpu + 1, files[i][0]);
        fixture_put(path, files[i][1]);
    }
}

static void put_system(const struct base *base)
{
    char text[256];
    put_text(text, "model name : %s\nflags : fpu%s\n", base->cpu,
             base->is_virtual ? " hypervisor" : "");
    fixture_put("/proc/cpuinfo", text);
    fixture_put("/proc/meminfo", "MemTotal: 528000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    fixture_put("/sys/devices/system/cpu/online", "0-7\n");
    fixture_put("/sys/devices/system/cpu/present", "0-7\n");
    fixture_put("/sys/bus/pci/devices/0000:f0:00.0/vendor", "0x8086\n");
    fixture_put("/sys/bus/pci/devices/0000:f0:00.0/class", "0x060000\n");
}

static void make(const struct base *base)
{
    memset(&world, 0, sizeof(world));
    put_system(base);
    for (unsigned i = 0; i < base->ngpus; i++)
        put_gpu(base, (int)i);
    world.topo = (struct topo){.ncpus = 8,
                               .ncores = 8,
                               .nkinds = 1,
                               .nnodes = 1,
                               .npackages = base->sockets,
                               .ngpus = base->ngpus,
                               .cpus = world.cpus,
                               .nodes = &world.node,
                               .gpus = world.gpus};
    for (unsigned i = 0; i < 8; i++)
        world.cpus[i] = (struct topo_cpu){.os_cpu = i, .core = (int)i, .allowed = true};
    world.node.memory_bytes = 500ull << 30;
}

static void read_and_measure(const struct base *base)
{
    const struct facts_request request = {.root = fixture_dir, .topo = &world.topo};
    assert_int_equal(facts_read(&request, &world.facts, NULL), 0);
    world.facts.steal = 0;
    measure(PROBE_MEMORY_BANDWIDTH, "bandwidth", "op=triad;threads=8", base->memory);
    for (unsigned i = 0; i < base->ngpus; i++)
        measure_gpu(base, (int)i);
    if (base->ngpus > 1)
        measure(PROBE_COLLECTIVE, "collective_busbw", "op=allreduce;size=33554432", base->busbw);
    else
        world.facts.probes[PROBE_COLLECTIVE].status = PROBE_ABSENT;
}

/* Multiplies the values of that probe and metric by `factor`, for one GPU or ALL. */
static void scale(enum facts_probe_name name, const char *part, int gpu, double factor)
{
    char of[32];
    put_text(of, "gpu=%d", gpu);
    for (size_t i = 0; i < world.facts.probes[name].n; i++) {
        struct facts_value *value = &world.facts.probes[name].values[i];
        if (strstr(value->key, part) && (gpu == ALL || strstr(value->key, of)))
            value->value *= factor;
    }
}

#define HEALTH(field, number)                                                                      \
    for (unsigned i = 0; i < world.topo.ngpus; i++)                                                \
    world.health[i].field = (number)

static void never_there(void)
{
    world.topo.ngpus = 7;
    fixture_put("/sys/bus/pci/devices/0000:08:00.0/class", "0x060000\n");
}
static void lost(void)
{
    world.topo.ngpus = 7;
}
static void no_driver(void)
{
    world.topo.ngpus = 0;
}
static void hidden_by_cuda(void)
{
    world.gpus[1].cuda_ordinal = -1;
}
static void other_model(void)
{
    for (unsigned i = 0; i < 2; i++)
        text_set(world.gpus[i].name, "%s", "NVIDIA H100 80GB HBM3");
}
static void half_memory(void)
{
    HEALTH(memory_bytes, 40 * 0x1p30);
}
static void narrow(void)
{
    char path[96];
    for (int i = 1; i <= 8; i++) {
        put_text(path, "/sys/bus/pci/devices/0000:%02x:00.0/current_link_width", i);
        fixture_put(path, "8\n");
    }
    HEALTH(pcie_width, 8);
}
static void old_slots(void)
{
    HEALTH(pcie_generation_link, 3);
}
static void link_down(void)
{
    world.health[3].nvlinks_active = 17;
}
static void no_links(void)
{
    HEALTH(nvlinks, world.health[i].nvlinks_active = 0);
}
static void low_power(void)
{
    HEALTH(power_limit_w, world.health[i].power_limit_default_w = 350);
}
static void tells_nothing(void)
{
    for (unsigned i = 0; i < 2; i++)
        gpu_health_init(&world.health[i]);
}
static void slow_d2h(void)
{
    scale(PROBE_GPU_COPY, "dir=d2h", ALL, 42. / 55);
}
static void slow_copies(void)
{
    scale(PROBE_GPU_COPY, "dir=", ALL, 12. / 55);
}
static void slow_memory(void)
{
    scale(PROBE_GPU_STREAM, "op=triad", ALL, 2500. / 3060);
}
static void one_slow_memory(void)
{
    scale(PROBE_GPU_STREAM, "op=triad", 5, 0.8);
}
static void slow_reduce(void)
{
    scale(PROBE_COLLECTIVE, "op=", ALL, 0.12);
}
static void slow_products(void)
{
    scale(PROBE_GPU_MATMUL, "type=bf16", ALL, 0.6);
}
static void wrong_product(void)
{
    struct facts_value *value = &world.facts.probes[PROBE_GPU_MATMUL].values[0];
    value->value = NAN;
    text_set(value->why, "%s", "bf16: 3 wrong elements");
}
static void lacks(enum facts_probe_name name, const char *reason)
{
    struct facts_probe *probe = &world.facts.probes[name];
    probe->n = 0;
    probe->status = PROBE_UNSUPPORTED;
    text_set(probe->reason, "%s", reason);
}
static void no_nccl(void)
{
    lacks(PROBE_COLLECTIVE, "no libnccl.so.2 here");
}
static void no_copies(void)
{
    lacks(PROBE_GPU_COPY, "built without CUDA");
}
static void no_cublas(void)
{
    lacks(PROBE_GPU_MATMUL, "no libcublasLt.so.13 here");
}
static void one_socket(void)
{
    world.topo.npackages = 1;
}
static void half_host_memory(void)
{
    scale(PROBE_MEMORY_BANDWIDTH, "op=", ALL, 0.3);
}
static void stolen(void)
{
    world.facts.steal = 0.2;
}
static void four_handed_in(void)
{
    world.topo.ngpus = 4;
    fixture_put("/.dockerenv", "");
}
static void on_hypervisor(void)
{
    fixture_put("/proc/cpuinfo", "model name : AMD EPYC 9654\nflags : hypervisor\n");
}

/* `before`: applied before the files are read; otherwise after the measurement. */
static const struct planted {
    const char *is, *machine;
    void (*before)(void), (*after)(void);
    enum finding_outcome without, with;
    const char *rule; /* that reports it with --machine; NULL = a good machine */
} planted[] = {
#define GOOD(machine, without)                                                                     \
    {                                                                                              \
        "good", machine, NULL, NULL, OUTCOME_##without, OUTCOME_PASS, NULL                         \
    }
#define EARLY(is, machine, plant, without, with, rule)                                             \
    {                                                                                              \
        is, machine, plant, NULL, OUTCOME_##without, OUTCOME_##with, rule                          \
    }
#define LATE(is, machine, plant, without, with, rule)                                              \
    {                                                                                              \
        is, machine, NULL, plant, OUTCOME_##without, OUTCOME_##with, rule                          \
    }
    GOOD("8xh100-sxm", PASS),
    GOOD("2xh200-sxm", PASS),
    GOOD("1xl4", PASS),
    GOOD("2xh100-pcie", PASS),
    GOOD("4xa100-sxm", PASS),
    GOOD("2xl40s", PASS),
    GOOD("1xb200-sxm", PASS),
    GOOD("cpu-2s-epyc", SKIP),
    GOOD("cpu-1s-epyc", SKIP),
    GOOD("cpu-2s-xeon", SKIP),
    GOOD("vm", SKIP),
    EARLY("a GPU was never on the bus", "8xh100-sxm", never_there, PASS, FAIL, "expected"),
    EARLY("a GPU on the bus, lost by the driver", "8xh100-sxm", lost, FAIL, FAIL, "expected"),
    EARLY("no driver", "8xh100-sxm", no_driver, FAIL, FAIL, "gpus_on_bus"),
    EARLY("CUDA sees one of two GPUs", "2xh200-sxm", hidden_by_cuda, FAIL, FAIL, "gpus_for_cuda"),
    EARLY("another model of GPU", "2xh200-sxm", other_model, PASS, FAIL, "machine"),
    EARLY("half the GPU memory", "4xa100-sxm", half_memory, PASS, FAIL, "machine"),
    EARLY("x8 of x16, all of them", "8xh100-sxm", narrow, FAIL, FAIL, "pcie_width"),
    {"slots of PCIe gen 3", "8xh100-sxm", old_slots, slow_copies, OUTCOME_PASS, OUTCOME_FAIL,
     "machine"},
    EARLY("an NVLink is down", "8xh100-sxm", link_down, FAIL, FAIL, "nvlinks"),
    EARLY("no NVLinks at all", "8xh100-sxm", no_links, PASS, FAIL, "machine"),
    EARLY("power limit 350 W as the default", "8xh100-sxm", low_power, PASS, FAIL, "machine"),
    EARLY("a driver that tells nothing", "2xh200-sxm", tells_nothing, PASS, ERROR, "machine"),
    EARLY("four of eight GPUs in a container", "8xh100-sxm", four_handed_in, PASS, FAIL,
          "expected"),
    LATE("copies to the host at 42 GB/s, all", "8xh100-sxm", slow_d2h, PASS, FAIL, "machine_rates"),
    LATE("GPU memory at 2.5 TB/s, all", "8xh100-sxm", slow_memory, PASS, FAIL, "machine_rates"),
    LATE("memory of one GPU at 0.8", "8xh100-sxm", one_slow_memory, FAIL, FAIL, "gpu_memory_alike"),
    LATE("all-reduce at 40 GB/s", "8xh100-sxm", slow_reduce, PASS, FAIL, "machine_rates"),
    LATE("bf16 products at 0.6, all", "8xh100-sxm", slow_products, PASS, FAIL, "machine_rates"),
    LATE("a wrong product", "2xh200-sxm", wrong_product, FAIL, FAIL, "gpu_products"),
    LATE("no NCCL", "8xh100-sxm", no_nccl, PASS, ERROR, "machine_rates"),
    LATE("no cuBLASLt", "2xh200-sxm", no_cublas, ERROR, ERROR, "gpu_products"),
    LATE("a build without CUDA", "2xh200-sxm", no_copies, ERROR, ERROR, "gpu_copies_alike"),
    EARLY("one of two sockets", "cpu-2s-epyc", one_socket, SKIP, FAIL, "expected"),
    LATE("host memory at 0.3", "cpu-2s-epyc", half_host_memory, SKIP, FAIL, "machine_rates"),
    EARLY("a virtual machine instead", "cpu-2s-epyc", on_hypervisor, SKIP, FAIL, "machine"),
    LATE("20% of its CPU time stolen", "vm", stolen, SKIP, FAIL, "machine"),
};

static const struct base *find_base(const char *kind)
{
    const struct base *base = bases;
    while (strcmp(base->kind, kind) != 0)
        base++;
    return base;
}

static struct rules_verdict verdict_of(const char *machine, struct findings *findings)
{
    struct rules_request request = {0};
    struct machine_kind kind;
    const char *file;
    char path[128];
    AUTO(findings) numbers = {0};
    struct err err = {0};
    if (machine) {
        unsigned gpus = machine_name_split(machine, &file);
        put_text(path, "share/machines/%s.json", file);
        text_set(kind.name, "%s", machine);
        if (machine_file_read(path, gpus, &kind, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(expect_parse(kind.expect, &request, &err), 0);
        request.machine = &kind;
    }
    assert_int_equal(rules_judge(&world.facts, &request, findings, &numbers, &err), 0);
    rules_sort(findings);
    return rules_verdict(findings, false, "it");
}

static size_t fit_of(const char *file)
{
    struct machine_kind kind;
    char path[128];
    put_text(path, "share/machines/%s.json", file);
    assert_int_equal(machine_file_read(path, world.topo.ngpus, &kind, NULL), 0);
    return machine_is_of(&kind, &world.gpus[0]);
}

/* Among all files, the one of this kind matches most of the GPU's name. */
static void fits_best(const char *machine)
{
    const char *own;
    (void)machine_name_split(machine, &own);
    const size_t fits = fit_of(own);
    assert_true(fits > 0);
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        const char *other;
        if (!machine_name_split(bases[i].kind, &other) || strcmp(own, other) == 0)
            continue;
        if (fit_of(other) >= fits)
            fail_msg("%s fits a %s as well", other, own);
    }
    assert_true(fit_of("h200-nvl") < fits && fit_of("h100-nvl") < fits);
}

static bool says(const struct findings *findings, const char *rule, enum finding_outcome outcome)
{
    for (size_t i = 0; i < findings->n; i++)
        if (strcmp(findings->all[i].id, rule) == 0 && findings->all[i].outcome == outcome)
            return true;
    return false;
}

static void print(FILE *table, const struct planted *p, const struct rules_verdict *without,
                  const struct rules_verdict *with, const struct finding *worst)
{
    if (table)
        (void)fprintf(table, "| %s | %s | %s | %s | %s |\n", p->is, p->machine,
                      finding_outcome_name(without->outcome), finding_outcome_name(with->outcome),
                      p->rule ? worst->id : "-");
}

TEST_IN_DIR(planted_machines_are_judged)
{
    const char *path = getenv("CONTEND_TABLE");
    FILE *table = path ? fopen(path, "we") : NULL;
    unsigned n = 0;
    if (table)
        (void)fputs("| planted | `--machine` | without | with | first rule with |\n"
                    "|---|---|---|---|---|\n",
                    table);
    for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++, n++) {
        const struct planted *p = &planted[i];
        const struct base *base = find_base(p->machine);
        AUTO(findings) alone = {0}, named = {0};
        make(base);
        if (p->before)
            p->before();
        read_and_measure(base);
        if (p->after)
            p->after();
        const struct rules_verdict without = verdict_of(NULL, &alone);
        const struct rules_verdict with = verdict_of(p->machine, &named);
        print(table, p, &without, &with, named.all);
        if (without.outcome != p->without || with.outcome != p->with)
            fail_msg("%s, %s: %s and %s: %s; %s: %s", p->machine, p->is,
                     finding_outcome_name(without.outcome), finding_outcome_name(with.outcome),
                     with.text, named.all[0].id, named.all[0].sentence);
        if (!p->rule && base->gpu)
            fits_best(p->machine);
        if (p->rule && !says(&named, p->rule, p->with))
            fail_msg("%s, %s: %s does not say so", p->machine, p->is, p->rule);
        facts_free(&world.facts);
        assert_int_equal(fixture_remove_dir(NULL), 0);
        assert_int_equal(fixture_make_dir(NULL), 0);
    }
    assert_true(n >= 30);
    if (table)
        (void)fclose(table);
}
