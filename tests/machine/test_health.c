/* The health of GPUs, as drivers report or withhold it, and the findings about it. */
#include "harness/machine/gpu_health.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness/machine/topo_gpu.h"
#include "harness/record/json_machine.h"
#include "tests/lib/fixture_driver.h"
#include "tests/lib/unit.h"

static const char gpu0[] = "beef:07:00.0", gpu1[] = "beef:08:00.0";

static struct findings findings; /* of the last judgement */

static size_t count(const struct gpu_health *health)
{
    findings_free(&findings);
    gpu_health_judge(health, "GPU 7 (beef:07:00.0)", &findings);
    return findings.n;
}

/* True if one finding has that id and a sentence that begins with `text`. */
static bool finds(const struct gpu_health *health, enum finding_severity severity, const char *id,
                  const char *text)
{
    (void)count(health);
    for (size_t i = 0; i < findings.n; i++) {
        const struct finding *finding = &findings.all[i];
        if (finding->severity == severity && !strcmp(finding->id, id) &&
            !strncmp(finding->sentence, text, strlen(text)))
            return !strcmp(finding->subject, "GPU 7 (beef:07:00.0)");
    }
    return false;
}

static bool is_unknown(const struct gpu_health *health)
{
    return health->pcie_generation == -1 && health->pcie_width_max == -1 && health->nvlinks == -1 &&
           health->ecc == -1 && health->ecc_uncorrected == -1 && health->rows_pending == -1 &&
           health->persistence == -1 && health->compute_mode == GPU_MODE_UNKNOWN &&
           health->mig == -1 && health->nprocesses == -1 && isnan(health->power_w) &&
           isnan(health->temperature_c) && isnan(health->clock_mhz) && count(health) == 0 &&
           gpu_health_format(health)[0] == '\0';
}

DRIVER_TEST(gpu_health_of_a_good_gpu, NULL)
{
    struct gpu_health h;
    CHECK(gpu_health_read(gpu0, &h) == 0);
    CHECK(h.pcie_generation == 5 && h.pcie_width == 16 && h.pcie_width_max == 16);
    CHECK(h.nvlinks == 18 && h.nvlinks_active == 18 && h.nvlink_version == 4);
    CHECK(h.ecc == 1 && h.ecc_pending == 1 && h.ecc_corrected == 0 && h.ecc_uncorrected_life == 0);
    CHECK(h.rows_pending == 0 && h.persistence == 1 && h.compute_mode == GPU_MODE_DEFAULT);
    CHECK(h.mig == 0 && h.nprocesses == 0 && h.power_w == 120.4 && h.power_limit_w == 700);
    CHECK(count(&h) == 0);
    CHECK(!strcmp(gpu_health_format(&h),
                  "PCIe x16 gen 5; 18 NVLinks; ECC; 1500/1980 MHz; 120/700 W; 40 C"));
    CHECK(gpu_health_read("0000:00:00.0", &h) == -ENODEV && is_unknown(&h));
    return 0;
}

/* An idle GPU lowers the PCIe generation, which is no finding. */
DRIVER_TEST(gpu_health_links, "gen0=1 width0=8 links_down0=4 gen1=3 gen_link1=3 links1=12 "
                              "links_down1=12 links2=0")
{
    struct gpu_health h;
    CHECK(gpu_health_read(gpu0, &h) == 0 && count(&h) == 2);
    CHECK(finds(&h, FINDING_BAD, "gpu_pcie", "PCIe width is x8 of x16"));
    CHECK(finds(&h, FINDING_BAD, "gpu_nvlink", "4 of 18 NVLinks are down"));
    CHECK(strstr(gpu_health_format(&h), "PCIe x8 gen 1/5; 14 NVLinks; "));
    CHECK(gpu_health_read(gpu1, &h) == 0 && count(&h) == 2);
    CHECK(finds(&h, FINDING_NOTE, "gpu_pcie", "PCIe: slot and board allow gen 3, the GPU gen 5"));
    CHECK(finds(&h, FINDING_NOTE, "gpu_nvlink", "none of its 12 NVLinks is active"));
    CHECK(gpu_health_read("beef:09:00.0", &h) == 0 && count(&h) == 0 && h.nvlinks == 0);
    return 0;
}

DRIVER_TEST(gpu_health_memory, "uncorrected0=2 uncorrected_life0=5 corrected0=1 rows_pending0=1 "
                               "pages_pending=1 rows_bad0=3 ecc1=0 ecc_pending1=1 rows_failed1=1")
{
    struct gpu_health h;
    CHECK(gpu_health_read(gpu0, &h) == 0 && count(&h) == 5);
    CHECK(finds(&h, FINDING_BAD, "gpu_ecc", "2 uncorrected ECC errors since"));
    CHECK(finds(&h, FINDING_NOTE, "gpu_ecc", "5 uncorrected ECC errors in its life"));
    CHECK(finds(&h, FINDING_NOTE, "gpu_ecc", "1 corrected ECC error since"));
    CHECK(finds(&h, FINDING_BAD, "gpu_memory", "row remapping pending"));
    CHECK(finds(&h, FINDING_NOTE, "gpu_memory", "3 memory rows remapped"));
    CHECK(gpu_health_read(gpu1, &h) == 0 && count(&h) == 3);
    CHECK(finds(&h, FINDING_NOTE, "gpu_ecc", "ECC is off until the next reset"));
    CHECK(finds(&h, FINDING_BAD, "gpu_memory", "page retirement pending"));
    CHECK(finds(&h, FINDING_BAD, "gpu_memory", "remapping of a bad memory row has failed"));
    return 0;
}

DRIVER_TEST(gpu_health_modes, "persistence0=0 mode0=3 limit0=500000 throttle0=0x40 mode1=2 mig1=1 "
                              "mig2=1 mig_pending2=0 instances2=0")
{
    struct gpu_health h;
    CHECK(gpu_health_read(gpu0, &h) == 0 && count(&h) == 4);
    CHECK(finds(&h, FINDING_NOTE, "gpu_persistence", "persistence mode off"));
    CHECK(finds(&h, FINDING_BAD, "gpu_compute_mode", "compute mode exclusive: "));
    CHECK(finds(&h, FINDING_NOTE, "gpu_power", "its power is limited to 500 of 700 W"));
    CHECK(finds(&h, FINDING_BAD, "gpu_slowdown", "slowed down right now"));
    CHECK(gpu_health_read(gpu1, &h) == 0 && count(&h) == 2);
    CHECK(finds(&h, FINDING_BAD, "gpu_compute_mode", "compute mode prohibited: "));
    CHECK(finds(&h, FINDING_NOTE, "gpu_mig", "MIG on: 2 instances: MIG 1g.18gb, MIG 2g.18gb; "));
    CHECK(!strcmp(h.instances[1].uuid, "MIG-fake-101"));
    CHECK(gpu_health_read("beef:09:00.0", &h) == 0 && count(&h) == 2);
    CHECK(finds(&h, FINDING_BAD, "gpu_mig", "MIG on without an instance"));
    CHECK(finds(&h, FINDING_NOTE, "gpu_mig", "MIG will be off"));
    return 0;
}

/* A process has a name only if its pid belongs to this namespace. */
static int check_processes(void)
{
    struct gpu_health h;
    char link[64] = "";
    bool named = readlink("/proc/self/ns/pid", link, sizeof(link) - 1) > 0 &&
                 !strcmp(link, "pid:[4026531836]");
    CHECK(gpu_health_read(gpu0, &h) == 0 && h.nprocesses == 1 && count(&h) == 1);
    CHECK(h.processes[0].pid == 1 && h.processes[0].memory_bytes == 42949672960);
    CHECK(finds(&h, FINDING_BAD, "gpu_processes",
                named ? "another process uses it: 1 (" : "another process uses it: 1, "));
    CHECK(strstr(findings.all[0].sentence, ", 40 GiB"));
    CHECK(gpu_health_read(gpu1, &h) == 0 && h.nprocesses == 100 && count(&h) == 1);
    CHECK(finds(&h, FINDING_BAD, "gpu_processes", "100 other processes use it: "));
    CHECK(strstr(findings.all[0].sentence, "; ..."));
    CHECK(gpu_health_read("beef:09:00.0", &h) == 0 && h.nprocesses == -1);
    return 0;
}

static int check_own_process(void)
{
    struct gpu_health h;
    char states[64];
    put_text(states, "pid=%d", (int)getpid());
    (void)setenv("FAKE_GPU", states, 1);
    CHECK(gpu_health_read(gpu0, &h) == 0 && h.nprocesses == 0);
    return 0;
}

DRIVER_TEST(gpu_health_survives_garbage,
            "gen=4294967295 gen_link=77 width=0 ecc=9 mig=5 uncorrected=0xffffffff"
            "ffffffff rows=0xffffffff rows_pending=7 persistence=fails mode=1000 "
            "pid=0xffffffff power=0xffffffff clock_max=0xffffffff link_version=0")
{
    struct gpu_health h;
    CHECK(gpu_health_read(gpu0, &h) == 0);
    CHECK(h.pcie_generation == -1 && h.pcie_generation_link == -1 && h.pcie_width == -1);
    CHECK(h.ecc == -1 && h.ecc_uncorrected == -1 && h.rows_corrected == -1);
    CHECK(h.rows_pending == -1 && h.persistence == -1 && h.compute_mode == GPU_MODE_UNKNOWN);
    CHECK(h.mig == -1 && h.nprocesses == 0 && isnan(h.power_w) && isnan(h.clock_max_mhz));
    CHECK(h.nvlink_version == -1 && count(&h) == 0);
    json_auto_t *json = gpu_health_to_json(&h, "GPU 0");
    CHECK(json && json_is_null(json_object_get(json, "power_w")));
    CHECK(json_is_null(json_object_get(json_object_get(json, "pcie"), "width")));
    return 0;
}

static int check_absent(void)
{
    struct gpu_health h;
    CHECK(gpu_health_read(gpu0, &h) == 0 && is_unknown(&h));
    return 0;
}

static int check_no_nvml(void)
{
    struct gpu_health h;
    CHECK(gpu_health_read(gpu0, &h) == -ENOTSUP && is_unknown(&h));
    return 0;
}

/* A process of another name, which runs until the pipe is closed; 0 = not started. */
static pid_t start_process(const char *name, int *to_end)
{
    int ready[2], end[2];
    char byte = 0;
    if (pipe(ready) || pipe(end))
        return 0;
    pid_t child = fork();
    if (child == 0) {
        (void)close(end[1]);
        (void)prctl(PR_SET_NAME, name);
        _exit(write(ready[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 0);
    }
    *to_end = end[1];
    return child > 0 && read(ready[0], &byte, 1) == 1 ? child : 0;
}

/* The MPS server works for its clients and does not count as a user. */
DRIVER_TEST(gpu_health_server_of_mps_is_nobody, NULL)
{
    struct gpu_health h;
    int to_end, status;
    char states[64];
    pid_t server = start_process("nvidia-cuda-mps-server", &to_end);
    CHECK(server > 0);
    put_text(states, "pid0=%d", (int)server);
    (void)setenv("FAKE_GPU", states, 1);
    CHECK(gpu_health_read(gpu0, &h) == 0 && h.nprocesses == 0);
    put_text(states, "pid0=%d", (int)getppid());
    (void)setenv("FAKE_GPU", states, 1);
    CHECK(gpu_health_read(gpu0, &h) == 0 && h.nprocesses == 1);
    CHECK(!close(to_end) && waitpid(server, &status, 0) == server);
    return 0;
}

/* Under MPS the recommended mode is as good as the default; without the daemon it is not. */
DRIVER_TEST(gpu_health_exclusive_under_mps_is_good, "mode0=3 mode1=2")
{
    struct gpu_health h;
    char folder[] = "/tmp/contend-test-XXXXXX", pipe[64];
    CHECK(mkdtemp(folder) && !setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1));
    put_text(pipe, "%s/control", folder);
    CHECK(gpu_health_read(gpu0, &h) == 0 && count(&h) == 1 && !h.mps);
    CHECK(finds(&h, FINDING_BAD, "gpu_compute_mode", "compute mode exclusive: one process"));
    CHECK(!mkfifo(pipe, 0600));
    CHECK(gpu_health_read(gpu0, &h) == 0 && count(&h) == 1 && h.mps);
    CHECK(finds(&h, FINDING_NOTE, "gpu_compute_mode", "compute mode exclusive, with an MPS"));
    CHECK(gpu_health_read(gpu1, &h) == 0 && count(&h) == 1);
    CHECK(finds(&h, FINDING_BAD, "gpu_compute_mode", "compute mode prohibited: "));
    CHECK(!unlink(pipe) && !rmdir(folder));
    return 0;
}

TEST(gpu_health_processes)
{
    static const char states[] = "pid0=1 used0=42949672960 pid1=400000000 pids1=100 pid2=1 "
                                 "pids2=4000";
    fixture_driver_check("FULL", states, check_processes);
    fixture_driver_check("OLD", states, check_processes);
    fixture_driver_check("FULL", NULL, check_own_process);
}

TEST(gpu_health_survives_absent_calls)
{
    fixture_driver_check("BARE", NULL, check_absent);
    fixture_driver_check("BROKEN", NULL, check_no_nvml);
    assert_int_equal(fixture_driver_in_child("/nonexistent/libnvidia-ml.so.1", NULL, check_no_nvml),
                     0);
}

TEST(gpu_health_json_of_nothing)
{
    struct gpu_health h;
    json_auto_t *json = gpu_health_to_json(NULL, "");
    assert_true(json_is_null(json));
    gpu_health_init(&h);
    json = gpu_health_to_json(&h, "GPU 0");
    assert_true(json_is_null(json_object_get(json, "compute_mode")));
    assert_int_equal(json_array_size(json_object_get(json, "findings")), 0);
}

TEST(gpu_driver_and_runtime)
{
    char note[200] = "";
    assert_int_equal(topo_check_cuda(13000, "13.0.88", note, sizeof(note)), 0);
    assert_int_equal(topo_check_cuda(12000, "12.9.1", note, sizeof(note)), 0);
    assert_int_equal(topo_check_cuda(14010, "13.0.88", note, sizeof(note)), 0);
    assert_int_equal(topo_check_cuda(0, "13.0.88", note, sizeof(note)), 0);
    assert_string_equal(note, "");
    assert_int_equal(topo_check_cuda(12040, "13.0.88", note, sizeof(note)), -ENOTSUP);
    assert_has(note, "knows CUDA 12.4 at most");
    assert_has(note, "built with 13.0");
}
