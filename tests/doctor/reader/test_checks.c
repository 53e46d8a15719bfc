/* Checks of contend doctor on made-up views, for faults that test machines lack. */
#include "harness/doctor/doctor_tables.h"
#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

TEST(workers_on_cpus_of_their_own_have_no_finding)
{
    view_plant(2);
    for (size_t w = 0; w < 2; w++) {
        machine.processes[w].mask = machine.processes[w].parent_mask = w ? MASK_HIGH : MASK_LOW;
        for (int t = 0; t < 2; t++)
            view_add_task(w, w ? MASK_HIGH : MASK_LOW, 9.8, 0.1);
    }
    view_occupy_all(9.9);
    view_judge();
    assert_int_equal(diagnosis.n, 0);
}

/* Two processes of one thread each on a large machine: they share all CPUs, and neither waits. */
TEST(masks_that_overlap_without_waiting_are_no_finding)
{
    view_plant(2);
    view_add_task(0, MASK_ALL, 9.9, 0.05);
    view_add_task(1, MASK_ALL, 9.9, 0.05);
    view_judge();
    assert_int_equal(diagnosis.n, 0);
}

TEST(who_may_not_bind_others_is_told_to_ask_root)
{
    view_plant(2);
    view_plant_topo("node:2 core:2 pu:1");
    machine.view.uid = machine.processes[0].uid = 1000;
    machine.processes[1].uid = 1001;
    for (size_t w = 0; w < 2; w++)
        for (int t = 0; t < 4; t++)
            view_add_task(w, MASK_ALL, 5, 5);
    view_judge();
    const struct found *found = view_found("masks_overlap");
    assert_string_equal(found->finding.command,
                        "taskset -acp 0-1 100 && sudo taskset -acp 2-3 101");
}

/* Hidden processes are reported once, with the CPU time that was not attributed; the verdict is not
 * "no problem". */
TEST(what_is_hidden_is_told)
{
    const struct diagnosis none = {0};
    view_plant(1);
    view_occupy(0, 10);
    view_occupy(1, 5);
    machine.processes[0].cpu_s = 5;
    assert_float_equal(view_unattributed_s(&machine.view), 10, 1e-9);
    assert_string_equal(doctor_format_unread(&machine.view), "");
    assert_string_equal(doctor_format_none_found(&machine.view), "Nothing found that costs time.");
    machine.view.hidden = (struct view_hidden){
        .any = true, .how = "invisible", .group = "adm (4)", .npids = 2, .pids = {7, 9}};
    machine.view.environs_refused = 1;
    assert_string_equal(doctor_format_unread(&machine.view),
                        "Root would also see the environment, libraries and pages of 1 "
                        "process that this user may not read. /proc hides processes of other "
                        "users, also 7, 9 (hidepid=invisible); hidden ones used up to 1.0 of 4 "
                        "CPUs meanwhile. Root or a member of group adm (4) would see them.");
    assert_false(doctor_sees_no_process(&machine.view, &none));
    machine.processes[0].watched = false;
    assert_true(doctor_sees_no_process(&machine.view, &none));
    assert_string_equal(doctor_format_none_found(&machine.view), "No visible process was busy.");
}

/* Another process had the CPU for half of the time: each thread of the worker waited for that
 * process and for the other thread. */
TEST(blame_is_split_as_the_cpu_was)
{
    view_plant(1);
    machine.processes[0].mask = 2;
    view_add_task(0, 2, 2.5, 7.5);
    view_add_task(0, 2, 2.5, 7.5);
    view_occupy(3, 10);
    view_occupy(2, 10);
    view_judge();
    const struct found *found = view_found("run_queue");
    assert_string_equal(found->finding.evidence,
                        "own threads 33%, others 67%, quota 0.00%, hypervisor 0.00%");
    assert_float_equal(found->cost, 0.75, 1e-9);
}

TEST(no_thread_waits_for_itself)
{
    view_plant(1);
    machine.processes[0].mask = 2;
    view_add_task(0, 2, 7.5, 2.5);
    view_occupy(2, 10);
    view_judge();
    const struct found *found = view_found("run_queue");
    assert_string_equal(found->finding.evidence,
                        "own threads 0.00%, others 100%, quota 0.00%, hypervisor 0.00%");
}

/* Under lxcfs CPU 2 has another number, so its times are unknown. Still both wait. */
TEST(on_a_cpu_without_times_those_that_are_watched_are_to_blame)
{
    ENDED_BY(checker_close) struct checker checker;
    view_plant(2);
    machine.view.ncpus = 1;
    for (size_t w = 0; w < 2; w++) {
        machine.processes[w].mask = 2;
        view_add_task(w, 2, 4, 6.1);
        (void)snprintf(machine.processes[w].name, VIEW_NAME_MAX, "python3");
    }
    assert_int_equal(checker_open(&machine.view, &checker, NULL), 0);
    const char *wait_cause = check_format_cause(&checker, 0);
    assert_string_equal(wait_cause, "101 python3");
}

struct away {
    int mask; /* of `backup`, the process in the way */
    uint64_t gpus;
    bool everywhere;        /* the worker may run on all CPUs */
    unsigned backups, user; /* numbers of users: of backup, and of doctor */
    unsigned threads;       /* of backup, whose first thread was on CPU 0 and sleeps */
    bool is_root;
    const char *expected;
};

/* One worker on CPU 2, and `backup`, which is not watched, in its way; `away` says what differs. */
static void expect_away_of(const struct away *away, const char *command)
{
    const bool everywhere = away->everywhere;
    view_plant(1);
    machine.view.uid = away->user;
    machine.view.is_root = away->is_root;
    machine.processes[0].mask = everywhere ? MASK_ALL : 2;
    view_add_task(0, 2, 5, 5);
    if (everywhere)
        view_add_task(0, MASK_ALL, 9, 1);
    for (unsigned cpu = everywhere ? 0 : 2; cpu < (everywhere ? CPUS : 3); cpu++)
        view_occupy(cpu, 10);
    struct view_process *backup = view_add_backup(away->threads);
    backup->uid = away->backups;
    backup->mask = away->mask;
    backup->gpus = away->gpus;
    if (away->threads)
        backup->cpu = 0;
    view_judge();
    const struct found *found = view_found("run_queue");
    assert_string_equal(found->finding.command, command);
    if (away->expected)
        assert_has(found->finding.sentence, away->expected);
}

static void expect_away(int mask, uint64_t gpus, bool everywhere, const char *command)
{
    expect_away_of(&(struct away){.mask = mask, .gpus = gpus, .everywhere = everywhere}, command);
}

/* Another process on a worker's CPU moves to CPUs without workers; if there are none, it runs with
 * lower priority. It gets no CPUs that it may not use, and another worker gets no command. */
TEST(who_is_in_the_way_is_sent_away)
{
    expect_away(MASK_ALL, 0, false, "taskset -acp 0-1,3 900");
    expect_away(MASK_ALL, 0, true, "renice -n 19 -p 900");
    expect_away(MASK_HIGH, 0, false, "taskset -acp 3 900");
    expect_away(2, 0, false, "");
    expect_away(2, 0, true, "");
    expect_away(MASK_ALL, 1, false, "");
    expect_away(-1, 0, false, "");
    expect_away_of(&(struct away){.mask = MASK_ALL, .threads = 3}, "taskset -acp 0-1,3 900");
    expect_away_of(&(struct away){.mask = MASK_LOW, .threads = 3}, "");
}

/* Users get no command for another user's process; root does, with the owner's name. */
TEST(whose_is_in_the_way_is_told)
{
    expect_away_of(&(struct away){.mask = MASK_ALL,
                                  .backups = 1000,
                                  .user = 1000,
                                  .expected =
                                      " That makes it about 2.0x as fast. It holds while others "
                                      "use no more CPU time than now. The command touches "
                                      "backup (900), which is not part of this job."},
                   "taskset -acp 0-1,3 900");
    expect_away_of(&(struct away){.mask = MASK_ALL,
                                  .user = 1000,
                                  .expected =
                                      " backup (900) belongs to root: ask them. Alone on its "
                                      "CPUs it would be about 2.0x as fast."},
                   "");
    expect_away_of(&(struct away){.mask = MASK_ALL,
                                  .everywhere = true,
                                  .backups = 1001,
                                  .user = 1000,
                                  .expected = " backup (900) belongs to user 1001: ask them."},
                   "");
    expect_away_of(&(struct away){.mask = MASK_ALL,
                                  .everywhere = true,
                                  .backups = 1001,
                                  .is_root = true,
                                  .expected = " backup (900) belongs to user 1001."},
                   "renice -n 19 -p 900");
    /* Another user's worker, which is bound there. */
    expect_away_of(
        &(struct away){.mask = 2, .expected = "Alone on its CPUs it would be about 2.0x"}, "");
}

/* Linux has a niceness for each thread. Real-time threads ignore it, and its maximum is 19. */
TEST(renice_is_told_where_it_helps)
{
    for (int way = 0; way < 3; way++) {
        view_plant(1);
        view_add_task(0, MASK_ALL, 9, 9);
        view_occupy_all(10);
        struct view_process *backup = view_add_backup(3);
        backup->realtime = way == 1;
        backup->weight = way == 2 ? 15 : 1024;
        view_judge();
        const struct found *found = view_found("run_queue");
        assert_string_equal(found->finding.command,
                            way ? "" : "renice -n 19 -p $(ls /proc/900/task)");
        assert_true((strstr(found->finding.sentence, "backup (900, real-time)") != NULL) ==
                    (way == 1));
    }
}

TEST(quota_and_hypervisor_are_blamed)
{
    view_plant(1);
    machine.processes[0].mask = 2;
    view_add_task(0, 2, 2, 8);
    view_limit(0.5, 50, 4);
    machine.cpus[2] = (struct view_cpu){.os_cpu = 2, .user_s = 2, .steal_s = 2, .idle_s = 6};
    view_judge();
    const struct found *queue = view_found("run_queue");
    assert_string_equal(queue->finding.evidence,
                        "own threads 0.00%, others 0.00%, quota 50%, hypervisor 50%");
    const struct found *throttled = view_found("throttled");
    assert_has(throttled->finding.command, "/sys/fs/cgroup/a/cpu.max");
}

/* Four threads on two CPUs: each CPU was stopped for 80% of the time while two threads waited on
 * it. Other processes on these CPUs are not to blame. */
TEST(quota_that_was_used_up_is_to_blame)
{
    view_plant(1);
    for (int t = 0; t < 4; t++)
        view_add_task(0, MASK_LOW, 0.5, 9.5);
    view_limit(0.2, 96, 16);
    view_occupy(0, 8);
    view_occupy(1, 8);
    view_judge();
    const struct found *queue = view_found("run_queue");
    assert_has(queue->finding.sentence, "mostly because of the quota of its cgroup");
    assert_has(queue->finding.evidence, "quota 96%");
    /* The report does not recommend two sizes for the team. */
    assert_has(view_found("team_over_quota")->finding.sentence, "Start it with 1.");
}

/* Four threads under a quota of `quota` CPUs, which stops them now and then. */
static bool is_over(double quota)
{
    view_plant(1);
    for (int t = 0; t < 4; t++)
        view_add_task(0, MASK_LOW, 8, 1);
    view_limit(quota, 5, 1);
    view_judge();
    bool is_reported = view_look_for("team_over_quota") != NULL;
    return is_reported;
}

TEST(team_over_quota_is_larger_than_it)
{
    assert_true(is_over(3));
    assert_false(is_over(4));
}

TEST(idle_beside_names_the_mask_of_the_process)
{
    view_plant(1);
    view_add_task(0, 1, 5, 5);
    view_add_task(0, 1, 5, 5);
    view_occupy(1, 10);
    view_judge();
    const struct found *found = view_found("idle_beside_queue");
    assert_string_equal(found->finding.command, "taskset -acp 0-3 100");
}

TEST(far_from_its_gpu)
{
    view_plant(1);
    view_add_task(0, MASK_HIGH, 9, 0);
    view_use_gpu(0, 0);
    view_judge();
    const struct found *found = view_found("far_from_gpu");
    assert_true(isnan(found->cost));
    assert_string_equal(found->finding.command, "taskset -acp 0-1 100");
    assert_null(view_look_for("shut_out_of_gpu"));
    machine.tasks[0][0].mask = MASK_LOW; /* the state after the command */
    view_judge();
    assert_int_equal(diagnosis.n, 0);
}

/* A process that drives GPUs of both nodes is near one of them, on any CPU. */
TEST(near_one_of_its_gpus)
{
    view_plant(1);
    view_add_task(0, MASK_HIGH, 9, 0);
    view_use_gpu(0, 0);
    view_use_gpu(0, 1);
    view_judge();
    assert_int_equal(diagnosis.n, 0);
}

TEST(cpuset_without_cpus_of_the_gpu)
{
    view_plant(1);
    view_add_task(0, MASK_HIGH, 9, 0);
    view_use_gpu(0, 0);
    machine.group = (struct view_cgroup){
        .path = "/sys/fs/cgroup/a", .parent = -1, .quota_cpus = NAN, .cpus = view_range(2, 3)};
    machine.view.ncgroups = 1;
    machine.processes[0].cgroup[CGROUP_CPUSET] = 0;
    view_judge();
    assert_non_null(view_look_for("shut_out_of_gpu"));
    assert_null(view_look_for("far_from_gpu"));
}

TEST(pages_on_another_node)
{
    view_plant(1);
    view_add_task(0, MASK_HIGH, 9, 0);
    machine.about[0].pages_known = true;
    machine.about[0].mems = view_range(0, 1);
    machine.about[0].node_bytes[0] = UINT64_C(3) << 30;
    machine.about[0].node_bytes[1] = UINT64_C(1) << 30;
    view_judge();
    const struct found *found = view_found("far_pages");
    assert_string_equal(found->finding.evidence, "75% of its memory (3 GiB) is not on node 1");
    assert_string_equal(found->finding.command, "migratepages 100 0 1");
    machine.about[0].node_bytes[0] = 1 << 20;
    view_judge();
    assert_int_equal(diagnosis.n, 0);
}

/* Of a node without memory, or whose memory it may not use, nothing can be moved to its threads. */
TEST(pages_of_a_node_without_memory)
{
    for (int refused = 0; refused < 2; refused++) {
        view_plant(1);
        view_add_task(0, MASK_HIGH, 9, 0);
        machine.view.memory_nodes = view_range(0, (unsigned)refused);
        machine.about[0].pages_known = true;
        machine.about[0].mems = view_range(0, (unsigned)!refused);
        machine.about[0].node_bytes[0] = UINT64_C(3) << 30;
        view_judge();
        const struct found *found = view_found("far_pages");
        assert_string_equal(found->finding.evidence,
                            "it runs on node 1, and its memory (3 GiB) is on node 0");
        assert_string_equal(found->finding.command, "taskset -acp 0-1 100");
        view_add_task(0, MASK_LOW, 9, 0); /* its memory is near some of its threads */
        view_judge();
        assert_null(view_look_for("far_pages"));
    }
}

/* A GPU's memory is a node without CPUs; pages that the GPU fetched should stay there. */
TEST(pages_on_a_node_without_cpus)
{
    view_plant(1);
    view_add_task(0, MASK_HIGH, 9, 0);
    machine.view.nnodes = 3;
    machine.about[0].pages_known = true;
    machine.about[0].mems = view_range(0, 2);
    machine.about[0].node_bytes[1] = UINT64_C(1) << 30;
    machine.about[0].node_bytes[2] = UINT64_C(60) << 30;
    view_judge();
    assert_int_equal(diagnosis.n, 0);
    machine.about[0].node_bytes[0] = UINT64_C(3) << 30;
    view_judge();
    const struct found *found = view_found("far_pages");
    assert_string_equal(found->finding.evidence, "75% of its memory (3 GiB) is not on node 1");
    assert_string_equal(found->finding.command, "migratepages 100 0 1");
}

/* A launcher that only waits leads no processes; a worker leads its loaders. */
TEST(busy_parents_lead)
{
    view_plant(3);
    machine.processes[1].parent = 100;
    machine.processes[2].parent = 101;
    view_add_task(0, MASK_ALL, 0.01, 0);
    view_add_task(1, MASK_ALL, 9, 0);
    view_add_task(2, MASK_ALL, 9, 0);
    assert_ptr_equal(view_lead(&machine.view, &machine.processes[2]), &machine.processes[1]);
    assert_ptr_equal(view_lead(&machine.view, &machine.processes[1]), &machine.processes[1]);
}

TEST(what_costs_most_comes_first)
{
    static char settings[] = "PYTHONDEVMODE=1";
    view_plant(1);
    machine.processes[0].settings = settings;
    machine.processes[0].settings_size = sizeof(settings);
    view_add_task(0, 1, 5, 5);
    view_add_task(0, 1, 5, 5);
    view_judge();
    assert_int_equal(diagnosis.n, 2);
    for (size_t i = 1; i < diagnosis.n; i++)
        assert_true(diagnosis.all[i - 1].finding.severity >= diagnosis.all[i].finding.severity);
    assert_string_equal(diagnosis.all[0].finding.id, "idle_beside_queue");
    assert_string_equal(diagnosis.all[1].finding.id, "debugging");
    assert_string_equal(diagnosis.all[1].finding.command, "unset PYTHONDEVMODE");
}

/* Without schedstat run-queue waits are unknown, so no finding may follow from them. */
TEST(unknown_waits_are_no_finding)
{
    view_plant(2);
    machine.view.has_schedstat = false;
    for (size_t w = 0; w < 2; w++)
        view_add_task(w, MASK_ALL, 9, NAN);
    view_judge();
    assert_int_equal(diagnosis.n, 0);
}
