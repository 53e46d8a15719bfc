/* harness/machine/env.c: reads existing values, gives null for missing ones, lets nothing
 * hostile through. */
#include "harness/machine/env.h"
#include "harness/record/json_machine.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void put_server(void)
{
    fixture_put("/etc/os-release",
                "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    fixture_put("/proc/cpuinfo",
                "processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\nmicrocode\t: 0x1f\n"
                "flags\t\t: fpu sse hypervisor avx\n\nprocessor\t: 1\n"
                "model name\t: another\n");
    fixture_put("/proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
    fixture_put("/proc/sys/kernel/numa_balancing", "1\n");
    fixture_put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
    fixture_put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    fixture_put("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    fixture_put("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n");
    fixture_put("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    fixture_put("/sys/class/dmi/id/sys_vendor", "Some \xff Vendor\n");
}

TEST_IN_DIR(env_reads_a_server)
{
    put_server();
    ENDED_BY(env_free) struct environment env;
    struct env_request request = {.root = fixture_dir, .driver = "580.1"};
    env_gather(&request, &env);
    json_auto_t *json = env_to_json(&env);
    assert_non_null(json);
    assert_string_equal(text_of(json, "os"), "Debian GNU/Linux 12 (bookworm)");
    assert_string_equal(text_of(json, "cpu_model"), "Fast CPU @ 3 GHz");
    assert_string_equal(text_of(json, "microcode"), "0x1f");
    assert_string_equal(text_of(json, "governor"), "performance");
    assert_true(json_is_false(json_object_get(json, "boost")));
    assert_string_equal(text_of(json, "transparent_hugepage"), "madvise");
    assert_int_equal(json_integer_value(json_object_get(json, "numa_balancing")), 1);
    assert_int_equal(json_integer_value(json_object_get(json, "perf_event_paranoid")), -1);
    assert_int_equal(json_integer_value(json_object_get(json, "memory_bytes")), 2048 * 1024);
    assert_true(json_is_true(json_object_get(json, "virtual_machine")));
    assert_string_equal(text_of(json, "machine_vendor"), "Some ? Vendor");
    assert_string_equal(text_of(json, "driver"), "580.1");
    assert_true(json_is_null(json_object_get(json, "cuda")));
}

TEST_IN_DIR(env_governors_that_differ_are_mixed)
{
    put_server();
    fixture_put("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n");
    ENDED_BY(env_free) struct environment env;
    env_gather(&(struct env_request){.root = fixture_dir}, &env);
    assert_string_equal(env.governor, "mixed");
}

static void put_arm(const char *part)
{
    char text[256];
    put_text(text,
             "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\n"
             "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: %s\n",
             part);
    fixture_put("/proc/cpuinfo", text);
}

/* /proc/cpuinfo has numbers in place of a name, and no flags. The processor's name is looked up,
 * and firmware names the hypervisor. */
static void expect_arm(const char *model, double is_virtual, const char *hypervisor)
{
    ENDED_BY(env_free) struct environment env;
    env_gather(&(struct env_request){.root = fixture_dir}, &env);
    assert_string_equal(env.cpu_model, model);
    assert_string_equal(env.hypervisor, hypervisor);
    assert_true(isnan(is_virtual) ? isnan(env.virtual_machine) : env.virtual_machine == is_virtual);
}

TEST_IN_DIR(env_reads_a_server_of_arm)
{
    put_arm("0xd4f");
    expect_arm("Neoverse V2", NAN, "");
    fixture_put("/sys/firmware/devicetree/base/compatible", "linux,dummy-virt");
    expect_arm("Neoverse V2", 1, "linux,dummy-virt");
    fixture_put("/sys/class/dmi/id/sys_vendor", "NVIDIA\n");
    fixture_put("/sys/class/dmi/id/product_name", "GH200 P5042\n");
    expect_arm("Neoverse V2", 0, "");
    fixture_put("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    fixture_put("/sys/class/dmi/id/product_name", "c8g.metal-24xl\n");
    expect_arm("Neoverse V2", 0, "");
    fixture_put("/sys/class/dmi/id/product_name", "c8g.xlarge\n");
    expect_arm("Neoverse V2", 1, "Amazon EC2");
    put_arm("0x123");
    expect_arm("Arm processor, implementer 0x41, part 0x123", 1, "Amazon EC2");
}

/* A container sees a limit only where it was set, often on a parent of its own cgroup. */
TEST_IN_DIR(env_takes_the_tightest_cgroup_limit)
{
    fixture_put("/proc/self/cgroup", "1:cpu:/elsewhere\n0::/pod/job\n");
    fixture_put("/sys/fs/cgroup/pod/job/cpu.max", "max 100000\n");
    fixture_put("/sys/fs/cgroup/pod/job/cpuset.cpus.effective", "0-3,8\n");
    fixture_put("/sys/fs/cgroup/pod/job/memory.max", "3000000\n");
    fixture_put("/sys/fs/cgroup/pod/cpu.max", "250000 100000\n");
    fixture_put("/sys/fs/cgroup/pod/memory.max", "2000000\n");
    ENDED_BY(env_free) struct environment env;
    env_gather(&(struct env_request){.root = fixture_dir}, &env);
    assert_string_equal(env.cgroup.path, "/pod/job");
    assert_string_equal(env.cgroup.cpu_max, "max 100000");
    assert_string_equal(env.cgroup.cpuset, "0-3,8");
    assert_true(env.cgroup.cpus_limit > 2.4999 && env.cgroup.cpus_limit < 2.5001);
    char quota[200];
    assert_true(cgroup_format_quota(&env.cgroup, 3, quota, sizeof(quota)));
    assert_has(quota, "the time of 2.5 CPUs and allows 3: ");
    assert_false(cgroup_format_quota(&env.cgroup, 2, quota, sizeof(quota)));
    assert_true(env.cgroup.memory_limit_bytes > 1999999 && env.cgroup.memory_limit_bytes < 2000001);
}

/* cgroup version 1 names hierarchies by controllers; a container's own cgroup is the root that it
 * sees. */
TEST_IN_DIR(env_reads_cgroups_of_version_1)
{
    fixture_put("/proc/self/cgroup",
                "12:cpuset:/docker/1f\n5:cpu,cpuacct:/docker/1f\n4:memory:/docker/1f\n");
    fixture_put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
    fixture_put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    fixture_put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    ENDED_BY(env_free) struct environment env;
    env_gather(&(struct env_request){.root = fixture_dir}, &env);
    assert_string_equal(env.cgroup.path, "");
    assert_true(env.cgroup.cpus_limit > 3.9999 && env.cgroup.cpus_limit < 4.0001);
    assert_true(isnan(env.cgroup.memory_limit_bytes));
    env_free(&env);
    fixture_put("/sys/fs/cgroup/cpu/docker/1f/cpu.cfs_quota_us", "-1\n");
    fixture_put("/sys/fs/cgroup/cpu/docker/1f/cpu.cfs_period_us", "100000\n");
    fixture_put("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "150000\n");
    fixture_put("/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n");
    fixture_put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2000000\n");
    env_gather(&(struct env_request){.root = fixture_dir}, &env);
    assert_true(env.cgroup.cpus_limit > 1.4999 && env.cgroup.cpus_limit < 1.5001);
    assert_true(env.cgroup.memory_limit_bytes > 1999999 && env.cgroup.memory_limit_bytes < 2000001);
}

static double mps_here(void)
{
    ENDED_BY(env_free) struct environment env;
    env_gather(&(struct env_request){.root = fixture_dir}, &env);
    double mps = env.mps;
    return mps;
}

/* MPS is on if its daemon runs. Remains of a dead daemon, or a daemon that is not visible here, do
 * not count. */
TEST_IN_DIR(env_tells_whether_mps_is_on)
{
    (void)setenv("CUDA_MPS_PIPE_DIRECTORY", "/run/pipes", 1);
    assert_true(mps_here() == 0);
    fixture_put("/run/pipes/nvidia-cuda-mps-control.pid", "412\n");
    assert_true(mps_here() == 0);
    fixture_put("/run/pipes/control", "");
    assert_true(isnan(mps_here()));
    fixture_put("/proc/412/comm", "bash\n");
    assert_true(isnan(mps_here()));
    fixture_put("/proc/412/comm", "nvidia-cuda-mps\n");
    assert_true(mps_here() == 1);
    (void)unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    assert_true(mps_here() == 0);
}

TEST(env_absent_is_null)
{
    static const char *const keys[] = {"os",           "cpu_model",   "governor",
                                       "boost",        "nccl",        "numa_balancing",
                                       "memory_bytes", "clocksource", "driver"};
    ENDED_BY(env_free) struct environment env;
    env_gather(&(struct env_request){.root = "/nonexistent"}, &env);
    json_auto_t *json = env_to_json(&env);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_true(json_is_null(json_object_get(json, keys[i])));
    json_t *cgroup = json_object_get(json, "cgroup");
    assert_true(json_is_null(json_object_get(cgroup, "cpus_limit")));
    assert_true(json_is_null(json_object_get(cgroup, "path")));
    assert_non_null(text_of(json, "kernel"));
    assert_non_null(text_of(json, "glibc"));
}

TEST(env_keeps_only_variables_that_matter)
{
    setenv("OMP_NUM_THREADS", "4", 1);
    setenv("NCCL_DEBUG", "bad \xc3(", 1);
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
    setenv("CUBLASLT_LOG_LEVEL", "0", 1);
    setenv("CONTEND_SECRET", "no", 1);
    ENDED_BY(env_free) struct environment env;
    env_gather(&(struct env_request){0}, &env);
    json_auto_t *json = env_to_json(&env);
    const json_t *variables = json_object_get(json, "variables");
    assert_string_equal(text_of(variables, "OMP_NUM_THREADS"), "4");
    assert_string_equal(text_of(variables, "NCCL_DEBUG"), "bad ?(");
    assert_string_equal(text_of(variables, "CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
    assert_string_equal(text_of(variables, "CUBLASLT_LOG_LEVEL"), "0");
    assert_null(json_object_get(variables, "CONTEND_SECRET"));
    assert_null(json_object_get(variables, "PATH"));
    env_free(&env);
    env_free(NULL);
}

TEST(env_host_label_is_a_safe_directory_name)
{
    static const char *const names[][2] = {{"node-7.example.org", "node-7.example.org"},
                                           {"", "host"},
                                           {"..", "x."},
                                           {"../../etc", "x.-..-etc"},
                                           {"a b`$(x)\n\xe4", "a-b---x---"},
                                           {"-rf", "xrf"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct environment env = {0};
        char label[ENV_HOST_LABEL_MAX];
        put_text(env.hostname, "%s", names[i][0]);
        assert_string_equal(env_host_label(&env, label), names[i][1]);
    }
}
