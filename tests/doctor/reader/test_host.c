/* What doctor reads about the machine apart from its processes, from made-up files. */
#include "harness/doctor/reader/host.h"

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static struct bitset mask;
static struct view_process worker = {
    .pid = 100, .watched = true, .state = 'D', .mask = 0, .cgroup = {-1, 0, 1}};
static struct view_cgroup groups[2] = {{.path = "/sys/fs/cgroup", .parent = -1},
                                       {.path = "/sys/fs/cgroup/job", .parent = 0}};
static struct view view = {.wall_s = 2,
                           .nmasks = 1,
                           .masks = &mask,
                           .nprocesses = 1,
                           .processes = &worker,
                           .ncgroups = 2,
                           .cgroups = groups};

static void put_memory(unsigned refaults, unsigned waited_us, unsigned kills)
{
    char text[160];
    put_text(text, "anon 5\nworkingset_refault_anon %u\nworkingset_refault_file %u\n", refaults,
             refaults);
    fixture_put("/sys/fs/cgroup/job/memory.stat", text);
    put_text(text, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%u\n", waited_us);
    fixture_put("/sys/fs/cgroup/job/memory.pressure", text);
    put_text(text, "low 0\nhigh %u\nmax 0\noom 0\noom_kill %u\n", 2 * kills, kills);
    fixture_put("/sys/fs/cgroup/job/memory.events", text);
}

TEST_IN_DIR(host_differences)
{
    AUTO(host) host;
    bitset_set(&mask, 1);
    put_memory(10, 1000, 3);
    fixture_put("/sys/fs/cgroup/job/memory.max", "1048576\n");
    fixture_put("/sys/fs/cgroup/job/memory.high", "max\n");
    fixture_put("/sys/fs/cgroup/job/memory.current", "524288\n");
    fixture_put("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 75 kB\n");
    fixture_put("/proc/vmstat", "pgpgin 4\npgpgout 2\nnuma_hint_faults 10\n"
                                "numa_pages_migrated 4\npgscan_kswapd 4\n");
    fixture_put("/proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=1000\n");
    fixture_put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "7\n");
    assert_int_equal(host_mark(&view, NULL, fixture_dir, &host, NULL), 0);
    host_look(&view, &host);
    host_look(&view, &host);
    put_memory(15, 401000, 4);
    fixture_put("/proc/pressure/io", "some avg10=0 avg60=0 avg300=0 total=801000\n");
    fixture_put("/proc/vmstat", "pgpgin 24\npgpgout 4\nnuma_hint_faults 110\n"
                                "numa_pages_migrated 4\npgscan_kswapd 4\n"
                                "pgscan_direct 6\n");
    fixture_put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "11\n");
    assert_int_equal(host_finish(&view, &host, NULL), 0);
    assert_true(host.a_second.numa_faults == 50 && host.a_second.numa_moved == 0);
    assert_true(fabs(host.a_second.disk_waits_s - 0.4) < 1e-9);
    assert_true(host.a_second.disk_bytes == 11 << 10);
    assert_true(host.a_second.throttles == 2 && isnan(host.a_second.throttled_s));
    assert_int_equal(host.nmemories, 2);       /* the machine, and the job */
    assert_true(isnan(host.memories[0].some)); /* no PSI of the machine */
    assert_true(fabs(host.memories[1].some - 0.2) < 1e-9 && host.memories[1].refaults == 5);
    assert_true(host.memories[1].kills == 1);
    assert_true(host.memories[1].limit_bytes == 1048576);
    assert_true(host.memories[0].used == 0.25 && host.memories[1].used == 0.5);
    assert_true(host.memories[0].scans == 3);
}

TEST_IN_DIR(host_version_1)
{
    AUTO(host) host;
    put_text(groups[1].path, "/sys/fs/cgroup/memory/job");
    fixture_put("/sys/fs/cgroup/memory/job/memory.stat", "workingset_refault 8\n");
    fixture_put("/sys/fs/cgroup/memory/job/memory.oom_control", "under_oom 0\noom_kill 2\n");
    fixture_put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(host_mark(&view, NULL, fixture_dir, &host, NULL), 0);
    fixture_put("/sys/fs/cgroup/memory/job/memory.stat", "workingset_refault 18\n");
    fixture_put("/sys/fs/cgroup/memory/job/memory.oom_control", "under_oom 0\noom_kill 3\n");
    assert_int_equal(host_finish(&view, &host, NULL), 0);
    assert_true(host.memories[1].refaults == 5 && host.memories[1].kills == 1);
    assert_true(isnan(host.memories[1].limit_bytes) && isnan(host.memories[1].some));
    assert_true(isnan(host.memories[1].used)); /* also of the machine: no meminfo */
}

/* A container sees its own cgroup as the root. */
TEST_IN_DIR(host_limit_of_a_container)
{
    AUTO(host) host;
    worker.cgroup[CGROUP_MEMORY] = 0;
    assert_int_equal(host_mark(&view, NULL, fixture_dir, &host, NULL), 0);
    assert_int_equal(host.nmemories, 1);
    host_free(&host);
    fixture_put("/sys/fs/cgroup/memory.max", "1048576\n");
    fixture_put("/sys/fs/cgroup/memory.current", "1047552\n");
    assert_int_equal(host_mark(&view, NULL, fixture_dir, &host, NULL), 0);
    assert_int_equal(host_finish(&view, &host, NULL), 0);
    assert_int_equal(host.nmemories, 2);
    assert_true(host.memories[1].used > 0.99);
}
