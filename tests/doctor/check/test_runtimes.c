/* Pools in pools, runtimes under quotas, threads that leave the mask of their process, on made-up
 * views: what is named, which setting, and that healthy jobs are left alone. */
#include <math.h>

#include "harness/doctor/check/check_launch.h"
#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

#define SET(process, member, words)                                                                \
    do {                                                                                           \
        static char text[] = words;                                                                \
        (process)->member = text;                                                                  \
        (process)->member##_size = sizeof(text);                                                   \
    } while (0)

static void add_task(struct machine *machine, size_t worker, int mask, const char *from,
                     unsigned libraries, double oncpu_s, double wait_s)
{
    struct view_process *process = &machine->processes[worker];
    view_add_task(machine, worker, mask, oncpu_s, wait_s);
    struct view_task *task = &process->tasks[process->ntasks - 1];
    (void)snprintf(task->from, sizeof(task->from), "%s", from);
    task->libraries = libraries;
}

/* Two jobs of a thread pool on CPUs 0 and 1; a thread of the first one is bound to the second's. */
static void plant_escape(struct machine *machine)
{
    view_plant(machine, 2);
    for (size_t w = 0; w < 2; w++) {
        machine->processes[w].mask = (int)w;
        add_task(machine, w, (int)w, "", 0, w ? 3.3 : 9, w ? 6.6 : 1);
        add_task(machine, w, 1, "x64/libonnxruntime.so.1", 0, 3.3, 6.6);
        machine->processes[w].samples = 1000;
        machine->processes[w].spins = 350;
        SET(&machine->processes[w], command, "node\0ort.js");
    }
    view_occupy(machine, 0, 9.8);
    view_occupy(machine, 1, 9.8);
}

TEST(threads_that_leave_the_mask_of_their_process)
{
    struct machine machine;
    plant_escape(&machine);
    struct diagnosis diagnosis = view_judge(&machine);
    const struct found *found = &diagnosis.all[0];
    assert_string_equal(found->finding.id, "mask_escape");
    assert_string_equal(found->finding.command, "");
    assert_int_equal(found->npids, 2);
    assert_non_null(strstr(found->finding.sentence, "intra_op_num_threads"));
    assert_true(fabs(found->gain.times - 1 / 0.65) < 1e-9);
    assert_null(view_look_for(&diagnosis, "more_threads_than_cpus"));
    assert_null(view_look_for(&diagnosis, "masks_overlap"));
    diagnosis_free(&diagnosis);
}

/* Threads in their mask, bound on request, bound one by one, or alone where they went. */
TEST(threads_that_stay_are_left_alone)
{
    for (int way = 0; way < 4; way++) {
        struct machine machine;
        plant_escape(&machine);
        if (way == 0)
            machine.tasks[0][1].mask = 0;
        if (way == 1)
            SET(&machine.processes[0], settings, "OMP_PROC_BIND=true");
        if (way == 2)
            machine.processes[1].mask = machine.tasks[1][0].mask = 0;
        if (way == 3) {
            machine.view.nprocesses = 1;
            machine.tasks[0][1].wait_s = 0.1;
        }
        struct diagnosis diagnosis = view_judge(&machine);
        assert_null(view_look_for(&diagnosis, "mask_escape"));
        diagnosis_free(&diagnosis);
    }
}

/* A start line that differs from the present start in nothing is not written. */
TEST(a_launch_that_changes_nothing_is_none)
{
    static const char *const places[] = {"/", "/kubepods/a",
                                         "/sys/fs/cgroup/system.slice/a.service"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct machine machine;
        struct launch launch;
        struct env_changes changes = {0};
        view_plant(&machine, 1);
        SET(&machine.processes[0], command, "./job");
        SET(&machine.processes[0], settings, "OMP_NUM_THREADS=8");
        machine.group = (struct view_cgroup){.parent = -1, .quota_cpus = NAN};
        (void)snprintf(machine.group.path, sizeof(machine.group.path), "%s", places[i]);
        machine.view.ncgroups = 1;
        machine.processes[0].cgroup[CGROUP_CPU] = 0;
        env_changes_set(&changes, "OMP_NUM_THREADS", 8);
        launch_write(&machine.view, &machine.processes[0], &changes, &machine.masks[MASK_ALL], 8,
                     &launch);
        assert_string_equal(launch.command, "");
        assert_string_equal(launch.how, "");
        launch_write(&machine.view, &machine.processes[0], &changes, &machine.masks[MASK_LOW], 8,
                     &launch);
        assert_int_equal(launch.command[0] != 0, i != 1); /* 'kubectl set env' sets no CPUs */
    }
}
