/* Commands of contend doctor that assign CPUs: near its data, whole cores, each CPU once. */

#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

/* Two workers that may run anywhere, and wait. */
static void crowd(void)
{
    view_plant(2);
    for (size_t w = 0; w < 2; w++)
        for (int t = 0; t < 4; t++)
            view_add_task(w, MASK_ALL, 5, 5);
    view_occupy_all(10);
}

/* Expects this command in the only finding of that id. */
static void expect(const char *id, const char *command)
{
    view_judge();
    const struct found *found = view_found(id);
    assert_string_equal(found->finding.command, command);
}

TEST(overlap_deals_nodes)
{
    crowd();
    view_plant_topo("node:2 core:2 pu:1");
    view_judge();
    const struct found *found = view_found("masks_overlap");
    assert_int_equal(found->npids, 2);
    assert_float_equal(found->cost, 0.5, 1e-9);
    assert_string_equal(found->finding.command, "taskset -acp 0-1 100 && taskset -acp 2-3 101");
}

/* The first process uses the GPU of the second node. */
TEST(overlap_deals_near_gpus)
{
    struct topo_gpu gpus[2] = {{.pci_bdf = "0000:01:00.0", .node = 0},
                               {.pci_bdf = "0000:02:00.0", .node = 1}};
    crowd();
    view_plant_topo("node:2 core:2 pu:1");
    machine.topo.gpus = gpus;
    machine.topo.ngpus = 2;
    view_use_gpu(0, 1);
    view_use_gpu(1, 0);
    machine.host.topo = &machine.topo;
    view_judge();
    assert_string_equal(view_found("masks_overlap")->finding.command,
                        "taskset -acp 2-3 100 && taskset -acp 0-1 101");
    machine.topo.gpus = NULL;
    machine.topo.ngpus = 0;
}

/* Three workers have a GPU of a node with two cores, and the fourth has none: none moves away from
 * its GPU. */
TEST(overlap_sends_nobody_far_from_its_gpu)
{
    struct topo_gpu gpu = {.pci_bdf = "0000:01:00.0", .node = 0};
    view_plant(4);
    for (size_t w = 0; w < 4; w++)
        view_add_task(w, MASK_ALL, 5, 5);
    view_occupy_all(10);
    view_plant_topo("node:2 core:2 pu:1");
    machine.topo.gpus = &gpu;
    machine.topo.ngpus = 1;
    for (size_t w = 0; w < 3; w++)
        view_use_gpu(w, 0);
    expect("masks_overlap", "");
    machine.topo.gpus = NULL;
    machine.topo.ngpus = 0;
}

/* If a cgroup keeps workers away from their GPU, they stay on their node. */
TEST(overlap_inside_a_cpuset)
{
    view_plant(2);
    machine.group.cpus = view_range(2, 3);
    for (size_t w = 0; w < 2; w++) {
        machine.processes[w].cgroup[CGROUP_CPUSET] = 0;
        view_add_task(w, MASK_HIGH, 5, 5);
        view_use_gpu(w, 0);
    }
    view_occupy(2, 10);
    view_occupy(3, 10);
    view_plant_topo("node:2 core:2 pu:1");
    view_judge();
    const struct found *found = view_found("masks_overlap");
    assert_string_equal(found->finding.command, "taskset -acp 2 100 && taskset -acp 3 101");
    assert_lacks(found->finding.sentence, "fewer CPUs");
}

/* Linux often numbers second threads after all first threads: 0 and 2 are one core. */
TEST(overlap_deals_whole_cores)
{
    crowd();
    machine.view.nnodes = 1;
    machine.view.node_cpus[0] = view_range(0, 3);
    view_plant_topo("core:2 pu:2(indexes=0,2,1,3)");
    expect("masks_overlap", "taskset -acp 0,2 100 && taskset -acp 1,3 101");
    view_plant_topo("core:1 pu:4"); /* one core for both workers */
    expect("masks_overlap", "taskset -acp 0-1 100 && taskset -acp 2-3 101");
}

/* Without a topology the numbers of CPUs say nothing about their places. */
TEST(without_a_topology_nothing_is_dealt)
{
    crowd();
    expect("masks_overlap", "");
}

/* Two processes spin on CPU 0: the idle CPU of their node goes to the first, which has one
 * thread. */
TEST(spinning_gets_room_once)
{
    unsigned found = 0;
    view_plant(2);
    for (size_t w = 0; w < 2; w++) {
        view_add_task(w, MASK_LOW, 0.1, 0);
        view_add_task(w, 0, 5, 5);
        struct view_task *task = &machine.tasks[w][1];
        task->is_detailed = true;
        task->user_s = 5;
        machine.processes[w].gpu_device = true;
    }
    view_occupy(0, 10);
    view_judge();
    for (size_t i = 0; i < diagnosis.n; i++)
        if (strcmp(diagnosis.all[i].finding.id, "spin_wait") == 0) {
            assert_string_equal(diagnosis.all[i].finding.command, "");
            found++;
        }
    assert_int_equal(found, 2);
    assert_string_equal(view_found("masks_overlap")->finding.command,
                        "taskset -acp 0-1 100 && taskset -acp 0-1 101");
    /* No CPU near the GPU is idle. */
    view_use_gpu(0, 1);
    view_use_gpu(1, 1);
    view_occupy(2, 10);
    view_occupy(3, 10);
    expect("spin_wait", "");
}

/* A team on CPU 2: CPU 3 is idle, and no other CPU is near. */
TEST(narrow_masks_get_room)
{
    view_plant(1);
    machine.processes[0].mask = 2;
    view_add_task(0, 2, 5, 5);
    view_add_task(0, 2, 5, 5);
    view_occupy(2, 10);
    expect("narrow_mask", "taskset -acp 2-3 100");
    view_add_task(0, 2, 3, 7);
    expect("narrow_mask", "taskset -acp 2-3 100");
}

/* Idle CPUs that belong to another worker. */
TEST(room_is_not_taken_from_others)
{
    view_plant(2);
    machine.processes[0].mask = 2;
    view_add_task(0, 2, 5, 5);
    view_add_task(0, 2, 5, 5);
    view_add_task(1, 3, 2, 0);
    view_occupy(2, 10);
    view_occupy(3, 1);
    view_judge();
    assert_null(view_look_for("narrow_mask"));
}

/* A child inherited the only CPU of its parent; CPUs 2 and 3 belong to another worker. */
TEST(inherited_mask_is_not_widened_over_others)
{
    view_plant(2);
    machine.processes[0].mask = machine.processes[0].parent_mask = 0;
    view_add_task(0, 0, 5, 5);
    view_add_task(1, 2, 9, 0);
    expect("inherited_mask", "taskset -acp 0-1,3 100");
    machine.tasks[1][0].mask = MASK_HIGH;
    expect("inherited_mask", "taskset -acp 0-1 100");
}

/* Three loaders on CPU 0; their parent, the last process, may run anywhere. */
static void narrow_loaders(const char *parent)
{
    view_plant(4);
    (void)snprintf(machine.processes[3].name, VIEW_NAME_MAX, "%s", parent);
    for (size_t w = 0; w < 3; w++) {
        machine.processes[w].parent = machine.processes[3].pid;
        machine.processes[w].mask = 0;
        view_add_task(w, 0, 3.3, 6.7);
    }
    view_occupy(0, 10);
}

TEST(narrowed_children_get_the_mask_of_their_parent)
{
    static const char command[] =
        "taskset -acp 0-3 100 && taskset -acp 0-3 101 && taskset -acp 0-3 102";
    narrow_loaders("python3");
    view_judge();
    const struct found *found = view_found("narrowed_children");
    assert_string_equal(found->finding.evidence, "bound to CPU 0, while it may use 0-3; they "
                                                 "waited 67% of their runnable time");
    assert_has(found->finding.sentence, "3 children of python3 (103), bound");
    assert_true(fabs(found->gain.times - 30 / 9.9) < 1e-9);
    assert_null(view_look_for("masks_overlap"));
    view_add_task(3, MASK_ALL, 9, 0); /* busy itself, so it leads them */
    expect("narrowed_children", command);
}

/* Bound by a shell, to as many CPUs as loaders, or without a parent: not narrowed. */
TEST(children_that_are_not_narrowed)
{
    for (int way = 0; way < 4; way++) {
        narrow_loaders(way == 0 ? "bash" : "python3");
        for (size_t w = 0; w < 3; w++) {
            machine.processes[w].mask = way == 1 ? (int)w : 0;
            machine.processes[w].parent_mask = way == 2 ? 0 : MASK_ALL;
            machine.processes[w].parent = way == 3 ? 1 : 103;
        }
        view_judge();
        assert_null(view_look_for("narrowed_children"));
        assert_true(diagnosis.n > 0);
    }
}

/* CPU 0 is near the GPU as well, but belongs to another rank. */
TEST(far_from_gpu_goes_where_nobody_is)
{
    view_plant(2);
    view_add_task(0, MASK_HIGH, 9, 0);
    view_add_task(1, 0, 9, 0);
    view_use_gpu(0, 0);
    expect("far_from_gpu", "taskset -acp 1 100");
    view_add_task(0, MASK_HIGH, 9, 0); /* two threads need more than one CPU */
    expect("far_from_gpu", "taskset -acp 0-1 100");
}

/* The first thread is on CPU 2; the others may run anywhere. */
TEST(leader_alone_gets_company)
{
    view_plant(1);
    machine.processes[0].mask = MASK_HIGH;
    view_add_task(0, MASK_HIGH, 9, 0);
    view_add_task(0, MASK_ALL, 9, 0);
    expect("leader_alone", "taskset -acp 2-3 100");
    view_occupy(2, 9); /* others are there: the threads that may leave stay free */
    view_occupy(3, 9);
    expect("leader_alone", "taskset -cp 0-3 100");
    view_occupy(2, 0);
    view_occupy(3, 0);
    view_add_task(0, MASK_ALL, 9, 0); /* three threads need more than two CPUs */
    expect("leader_alone", "taskset -cp 0-3 100");
    machine.tasks[0][1].mask = 3; /* a member of a team, bound to its place */
    expect("leader_alone", "taskset -cp 0-3 100");
}

/* As OMP_PROC_BIND does it: the team is bound, threads from before it are not. */
TEST(team_that_is_bound_is_left_alone)
{
    view_plant(1);
    machine.processes[0].mask = 0;
    view_add_task(0, 0, 9, 0);
    view_add_task(0, 1, 9, 0);
    view_add_task(0, MASK_ALL, 9, 0);
    view_judge();
    assert_null(view_look_for("leader_alone"));
    /* Other threads have two different wide masks, so the right one is unknown. */
    machine.tasks[0][1].mask = MASK_LOW;
    expect("leader_alone", "");
}
