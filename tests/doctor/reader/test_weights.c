/* Weights of cgroups and sessions, from made-up files. */
#include "harness/doctor/reader/reader_parts.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static void put_process(int pid, const char *cgroup)
{
    char path[64], text[160];
    put_text(path, "/proc/%d/stat", pid);
    put_text(text,
             "%d (a) R 1 7 7 0 -1 0 0 0 0 0 11 12 0 0 20 0 1 0 99 0 0 0 0 0 0 0 0 0 0 0 0 0 "
             "0 0 17 0 0 0 0\n",
             pid);
    fixture_put(path, text);
    put_text(path, "/proc/%d/cgroup", pid);
    fixture_put(path, cgroup);
    put_text(path, "/proc/%d/autogroup", pid);
    fixture_put(path, "/autogroup-12 nice 5\n");
}

static void read_all(struct reader *reader)
{
    assert_int_equal(reader_open(fixture_dir, reader, NULL), 0);
    for (size_t i = 0; i < reader->view.nprocesses; i++)
        assert_int_equal(reader_read_weights(reader, &reader->view.processes[i], NULL), 0);
}

static const struct view_cgroup *cgroup_of(const struct reader *reader, int pid)
{
    const struct view_process *process = view_find(&reader->view, pid);
    assert_non_null(process);
    int at = process->cgroup[CGROUP_CPU];
    return at < 0 ? NULL : &reader->view.cgroups[at];
}

TEST_IN_DIR(weights_version_2)
{
    ENDED_BY(reader_close) struct reader reader;
    fixture_put("/proc/stat", "cpu0 1 0 0 0 0 0 0 0 0 0\n");
    fixture_put("/proc/sys/kernel/sched_autogroup_enabled", "1\n");
    fixture_put("/sys/fs/cgroup/cgroup.procs", "");
    fixture_put("/sys/fs/cgroup/pods/cpu.weight", "200\n");
    fixture_put("/sys/fs/cgroup/pods/a/cgroup.procs", ""); /* no controller there */
    put_process(100, "0::/pods/a\n");
    put_process(200, "0::/../other\n"); /* outside of this container */
    put_process(300, "0::/gone\n");
    put_process(400, "0::/\n");
    read_all(&reader);
    const struct view_cgroup *one = cgroup_of(&reader, 100);
    assert_non_null(one);
    assert_true(isnan(one->weight));
    assert_true(reader.view.cgroups[one->parent].weight == 2048);
    assert_null(cgroup_of(&reader, 200));
    assert_null(cgroup_of(&reader, 300));
    assert_true(isnan(cgroup_of(&reader, 400)->weight));
    assert_int_equal(view_find(&reader.view, 100)->autogroup, 12);
    assert_true(fabs(view_find(&reader.view, 100)->autogroup_weight / 335 - 1) < 0.02);
}

TEST_IN_DIR(weights_version_1)
{
    ENDED_BY(reader_close) struct reader reader;
    fixture_put("/proc/stat", "cpu0 1 0 0 0 0 0 0 0 0 0\n");
    fixture_put("/proc/sys/kernel/sched_autogroup_enabled", "0\n");
    fixture_put("/sys/fs/cgroup/cpu/release_agent", "\n"); /* only the root has this file */
    fixture_put("/sys/fs/cgroup/cpu/cpu.shares", "1024\n");
    fixture_put("/sys/fs/cgroup/cpu/a/cpu.shares", "512\n");
    put_process(100, "4:memory:/x\n1:cpu,cpuacct:/a\n0::/\n");
    read_all(&reader);
    const struct view_cgroup *one = cgroup_of(&reader, 100);
    assert_non_null(one);
    assert_true(one->weight == 512);
    assert_true(isnan(reader.view.cgroups[one->parent].weight));
    assert_int_equal(view_find(&reader.view, 100)->autogroup, 0); /* they are switched off */
}
