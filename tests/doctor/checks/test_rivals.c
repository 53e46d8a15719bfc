/* Whose weight counts between a worker and those on its CPUs, on made-up views. */
#include "harness/doctor/checks/rivals.h"

#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

/* The tree of cgroups below; -1 is unknown. */
enum { ROOT, PODS, POD_A, POD_A_C, POD_B, POD_B_C, USER, SESSION, SYSTEM, GROUPS };
static struct view_cgroup groups[GROUPS];

static void plant_group(int at, int parent, const char *path, double weight)
{
    groups[at] =
        (struct view_cgroup){.parent = parent, .v2 = true, .weight = weight, .quota_cpus = NAN};
    put_text(groups[at].path, "/sys/fs/cgroup%s", path);
}

static void plant_groups(void)
{
    plant_group(ROOT, -1, "", NAN);
    plant_group(PODS, ROOT, "/pods", 1024);
    plant_group(POD_A, PODS, "/pods/a", 1024);
    plant_group(POD_A_C, POD_A, "/pods/a/c", 1024);
    plant_group(POD_B, PODS, "/pods/b", 512);
    plant_group(POD_B_C, POD_B, "/pods/b/c", 1024);
    plant_group(USER, ROOT, "/user.slice", 1024);
    plant_group(SESSION, USER, "/user.slice/session-3.scope", NAN); /* no controller here */
    plant_group(SYSTEM, ROOT, "/system.slice", 1024);
    machine.view.cgroups = groups;
    machine.view.ncgroups = GROUPS;
}

/* Processes 1 and 2 burn on all CPUs, where worker 100 waits. All are in the root, in one session.
 */
static void plant(void)
{
    view_plant(3);
    plant_groups();
    machine.view.is_root = true;
    view_add_task(0, MASK_ALL, 5, 5);
    for (size_t i = 0; i < 3; i++) {
        machine.processes[i].cgroup[CGROUP_CPU] = ROOT;
        machine.processes[i].autogroup = 7;
        machine.processes[i].autogroup_weight = 1024;
    }
    for (size_t i = 1; i < 3; i++) {
        machine.processes[i].watched = false;
        machine.processes[i].threads = 1;
        machine.processes[i].cpu_s = 2.0 + (double)i;
    }
}

static double lower(char *command, size_t size)
{
    ENDED_BY(checker_close) struct checker checker;
    struct rivals rivals;
    char footnote[FOOTNOTE_MAX] = "";
    command[0] = '\0';
    assert_int_equal(checker_open(&machine.view, &checker, NULL), 0);
    assert_int_equal(checker.ngroups, 1);
    rivals_find(&checker, 0, &rivals);
    double freed_s =
        rivals_lower(&machine.view, &rivals, footnote, sizeof(footnote), command, size);
    return freed_s;
}

static double expect_command(const char *expected)
{
    char command[COMMAND_MAX];
    double freed_s = lower(command, sizeof(command));
    assert_string_equal(command, expected);
    assert_true((freed_s > 0) == (command[0] != '\0'));
    return freed_s;
}

static void expect_near(double value, double expected)
{
    assert_true(fabs(value - expected) < 1e-9);
}

static void put_in(size_t process, int cgroup, int autogroup)
{
    machine.processes[process].cgroup[CGROUP_CPU] = cgroup;
    machine.processes[process].autogroup = autogroup;
    machine.processes[process].autogroup_weight = 1024;
}

TEST(nice_counts_within_a_session)
{
    plant();
    double freed_s = expect_command("renice -n 19 -p 102 101");
    expect_near(freed_s, 7 * (1 - 15.0 / 1039));
    machine.processes[2].weight = 15; /* at nice 19 already */
    expect_near(expect_command("renice -n 19 -p 101"), 3 * (1 - 15.0 / 1039));
    machine.processes[1].realtime = true;
    (void)expect_command("");
}

TEST(an_autogroup_counts_between_sessions)
{
    plant();
    put_in(1, ROOT, 8);
    put_in(2, ROOT, 8);
    machine.processes[1].weight = 3; /* within its session only */
    double freed_s = expect_command("echo 19 > /proc/102/autogroup");
    expect_near(freed_s, 7 * (1 - 15.0 / 1039));
    machine.processes[1].weight = 1024;
    put_in(1, ROOT, 9);
    (void)expect_command("echo 19 > /proc/102/autogroup && echo 19 > /proc/101/autogroup");
    machine.view.is_root = false; /* the kernel allows one each 100 ms */
    (void)expect_command("echo 19 > /proc/102/autogroup && sleep 0.2 && "
                         "echo 19 > /proc/101/autogroup");
    put_in(1, ROOT, 7);
    (void)expect_command("echo 19 > /proc/102/autogroup && renice -n 19 -p 101");
    machine.processes[2].autogroup_weight = 15;
    (void)expect_command("renice -n 19 -p 101");
    machine.processes[1].uid = 5; /* another user's */
    (void)expect_command("");
}

/* A session without a group of its own, as that of init and of the kernel's threads. */
TEST(threads_of_the_root_count_by_nice)
{
    plant();
    put_in(1, ROOT, 0);
    put_in(2, ROOT, 0);
    (void)expect_command("renice -n 19 -p 102 101");
    for (size_t i = 0; i < 3; i++)
        put_in(i, -1, 0);
    (void)expect_command("renice -n 19 -p 102 101");
    put_in(0, ROOT, 0); /* which cgroup the others are in is unknown */
    (void)expect_command("");
}

TEST(the_cgroup_beside_counts)
{
    plant();
    put_in(0, POD_A_C, 7);
    put_in(1, POD_B_C, 7);
    put_in(2, POD_B, 8);
    double freed_s = expect_command("echo 1 | tee /sys/fs/cgroup/pods/b/cpu.weight");
    expect_near(freed_s, 7 * (1 - 10.24 / 1034.24));
    groups[POD_B].v2 = false;
    machine.view.is_root = false;
    (void)expect_command("echo 10 | sudo tee /sys/fs/cgroup/pods/b/cpu.shares");
    groups[POD_B].weight = 10.24;
    (void)expect_command("");
    /* Sessions count in the root only. */
    put_in(1, POD_A_C, 8);
    put_in(2, POD_A_C, 9);
    (void)expect_command("renice -n 19 -p 102 101");
    put_in(0, ROOT, 7);
    (void)expect_command("echo 1 | sudo tee /sys/fs/cgroup/pods/cpu.weight");
    /* In a cgroup above that of the worker. */
    put_in(0, POD_A_C, 7);
    put_in(1, PODS, 8);
    put_in(2, ROOT, 8);
    (void)expect_command("echo 19 > /proc/102/autogroup && renice -n 19 -p 101");
}

TEST(units_are_set_by_systemd)
{
    plant();
    put_in(0, SYSTEM, 7);
    put_in(1, SESSION, 8);
    put_in(2, SESSION, 9);
    (void)expect_command("systemctl set-property --runtime user.slice CPUWeight=1");
    put_in(0, SESSION, 7); /* without a controller there, they share a cgroup */
    (void)expect_command("renice -n 19 -p 102 101");
    groups[SESSION].weight = 1024;
    put_in(0, USER, 7);
    put_text(groups[SESSION].path, "/sys/fs/cgroup/user.slice/a\\x2db.scope");
    (void)expect_command("systemctl set-property --runtime 'a\\x2db.scope' CPUWeight=1");
    put_text(groups[SESSION].path, "/sys/fs/cgroup/user.slice/user@0.service/a b.scope");
    (void)expect_command(
        "echo 1 | tee '/sys/fs/cgroup/user.slice/user@0.service/a b.scope/cpu.weight'");
}

TEST(a_worker_is_not_lowered)
{
    plant();
    put_in(1, POD_B_C, 8);
    put_in(2, POD_B_C, 8);
    put_in(0, POD_A_C, 7);
    machine.processes[1].gpus = 1;
    (void)expect_command("");
    machine.processes[1].gpus = 0;
    machine.processes[1].watched = true; /* idle, but the user asked for it */
    machine.processes[1].cpu_s = 0;
    (void)expect_command("");
    machine.processes[1].watched = false;
    (void)expect_command("echo 1 | tee /sys/fs/cgroup/pods/b/cpu.weight");
}

/* The interval of the gain: three others share what one of them gives up. */
TEST(the_gain_is_that_of_the_part_that_gives_way)
{
    plant();
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        view_occupy(cpu, cpu ? 0 : 10);
    machine.processes[1].cpu_s = 1;
    machine.processes[2].cpu_s = 4;
    put_in(2, ROOT, 8);
    machine.processes[1].uid = 5; /* stays, and takes a part */
    machine.view.is_root = false;
    view_judge();
    const struct found *found = view_found("run_queue");
    assert_string_equal(found->finding.command, "echo 19 > /proc/102/autogroup");
    double freed_s = 4 * (1 - 15.0 / 1039), rest_s = 5 - freed_s;
    expect_near(found->gain.most, (5 + freed_s) / 5);
    expect_near(found->gain.times, 1 / (1 - freed_s * 5 / (5 + rest_s) / 10));
    assert_has(found->finding.sentence, "1.5x to 1.8x as fast");
}
