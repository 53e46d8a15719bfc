/* Pools in pools, runtimes under quotas, threads that leave the mask of their process, on made-up
 * views: what is named, which setting, and that healthy jobs are left alone. */
#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/check_runtime.h"
#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

#define SET(process, member, words)                                                                \
    do {                                                                                           \
        static char text[] = words;                                                                \
        (process)->member = text;                                                                  \
        (process)->member##_size = sizeof(text);                                                   \
    } while (0)

static void add_task(size_t worker, int mask, const char *from, unsigned libraries, double oncpu_s,
                     double wait_s)
{
    struct view_process *process = &machine.processes[worker];
    view_add_task(worker, mask, oncpu_s, wait_s);
    struct view_task *task = &process->tasks[process->ntasks - 1];
    put_text(task->from, "%s", from);
    task->libraries = libraries;
}

/* Callers from Python and a thread of OpenBLAS on two CPUs; the callers sleep while they queue. */
static void plant_nested(unsigned callers, unsigned own, unsigned spins)
{
    view_plant(1);
    machine.processes[0].mask = MASK_LOW;
    SET(&machine.processes[0], command, "python3\0train.py");
    for (unsigned i = 0; i < callers; i++)
        add_task(0, MASK_LOW, "bin/python3.11", LIBRARY_OPENBLAS, 4.5, 2);
    for (unsigned i = 0; i < own; i++)
        add_task(0, MASK_LOW, "lib/libopenblasp-r0.3.21.so", LIBRARY_OPENBLAS, 6, 4);
    machine.processes[0].samples = 1000;
    machine.processes[0].spins = spins;
    view_occupy(0, 9.8);
    view_occupy(1, 9.8);
}

TEST(nested_pools_get_a_thread_a_call)
{
    static const struct {
        unsigned callers, own, spins;
        bool is_found;
    } cases[] = {{3, 1, 280, true}, {3, 1, 50, false}, {3, 0, 280, false}, {1, 1, 280, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_nested(cases[i].callers, cases[i].own, cases[i].spins);
        view_judge();
        const struct found *found = view_look_for("more_threads_than_cpus");
        assert_int_equal(found != NULL, cases[i].is_found);
        if (found) {
            assert_int_equal(found->finding.severity, FINDING_BAD);
            assert_string_equal(found->finding.command, "OPENBLAS_NUM_THREADS=1 python3 train.py");
            assert_true(isnan(found->gain.times)); /* callers have waits of their own */
            assert_has(found->finding.sentence, "3 threads call OpenBLAS");
        }
    }
}

/* Two callers on three CPUs, no queue: the cause is named where the pool mostly spins, also if
 * other CPUs of the machine are idle. One caller is how OpenBLAS is meant to be used. */
TEST(few_callers_of_a_pool_that_spins)
{
    static const struct {
        unsigned callers, spins, last_cpu;
        bool is_found;
    } cases[] = {{2, 540, 2, true}, {2, 540, 7, true}, {2, 390, 2, false}, {1, 900, 2, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        view_plant(1);
        machine.masks[MASK_ALL] = view_range(0, 2);
        machine.view.online = view_range(0, cases[i].last_cpu);
        SET(&machine.processes[0], command, "python3\0train.py");
        for (unsigned t = 0; t < cases[i].callers; t++)
            add_task(0, MASK_ALL, "bin/python3.11", LIBRARY_OPENBLAS, 4.9, 0.1);
        for (unsigned t = 0; t < 2; t++)
            add_task(0, MASK_ALL, "lib/libopenblasp-r0.3.21.so", 0, 9.7, 0.2);
        machine.processes[0].samples = 1000;
        machine.processes[0].spins = cases[i].spins;
        for (unsigned cpu = 0; cpu < 3; cpu++)
            view_occupy(cpu, 9.8);
        view_judge();
        const struct found *found = view_look_for("more_threads_than_cpus");
        assert_int_equal(found != NULL, cases[i].is_found);
        if (found) {
            assert_int_equal(found->finding.severity, FINDING_BAD);
            assert_int_equal(found->cure, CURE_RESTART);
            assert_string_equal(found->finding.command, "OPENBLAS_NUM_THREADS=1 python3 train.py");
            assert_true(isnan(found->gain.times));
            assert_has(found->finding.sentence, "2 callers then use 2 of 3 CPUs");
        }
    }
}

/* The pool is that in which threads began; who calls it, and what sets it. */
TEST(a_pool_is_called_from_another)
{
    static const struct {
        const char *callers, *own;
        unsigned libraries, pools;
        const char *words;
    } cases[] = {
        {"lib/libstdc++.so.6", "lib/libgomp.so.1", LIBRARY_GOMP, 2, "export OMP_NUM_THREADS=1"},
        {"lib/libtbb.so.12", "lib/libgomp.so.1", LIBRARY_GOMP, 2, "export OMP_NUM_THREADS=1"},
        {"lib/libtorch_cpu.so", "lib/libgomp.so.1", LIBRARY_GOMP, 2, "export OMP_NUM_THREADS=1"},
        /* OpenBLAS on OpenMP: its threads are libgomp's */
        {"bin/python3.11", "lib/libgomp.so.1", LIBRARY_GOMP | LIBRARY_OPENBLAS, 2,
         "export OMP_NUM_THREADS=1"},
        /* OpenMP outside, OpenBLAS inside: OpenMP keeps its threads */
        {"lib/libgomp.so.1", "lib/libopenblas.so.0", LIBRARY_OPENBLAS, 2,
         "export OPENBLAS_NUM_THREADS=1"},
        {"bin/job", "lib/libiomp5.so", LIBRARY_MKL | LIBRARY_IOMP, 2, "export MKL_NUM_THREADS=1"},
        /* nobody was seen to call it */
        {"bin/job", "lib/libgomp.so.1", 0, 1, "export OMP_NUM_THREADS=1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct env_changes changes;
        view_plant(1);
        for (int t = 0; t < 2; t++) {
            add_task(0, MASK_ALL, cases[i].callers, cases[i].libraries, 4, 4);
            add_task(0, MASK_ALL, cases[i].own, 0, 4, 4);
        }
        if (cases[i].pools == 1)
            machine.tasks[0][0].oncpu_s = 0, machine.tasks[0][0].wait_s = 0;
        const struct check_team team = check_team_of(&machine.view, &machine.processes[0]);
        assert_int_equal(team.pools, cases[i].pools);
        check_team_set(&machine.processes[0], &team, 1, &changes);
        assert_string_equal(env_changes_format(&changes), cases[i].words);
    }
}

/* Of many threads only some are sampled: those that began like two callers are callers. */
TEST(callers_without_samples_count)
{
    plant_nested(3, 1, 280);
    machine.tasks[0][1].libraries = 0;
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 3);
    machine.tasks[0][2].libraries = 0; /* one caller beside threads that do something else */
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 1);
}

/* Callers sleep while another one has the pool, which is busy then. A light server's pool spins
 * too, but nobody waits for it. */
TEST(callers_keep_their_pool_busy)
{
    plant_nested(3, 1, 280);
    for (int t = 0; t < 3; t++) {
        machine.tasks[0][t].oncpu_s = 2.6;
        machine.tasks[0][t].wait_s = 0;
    }
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 3);
    for (int t = 0; t < 3; t++)
        machine.tasks[0][t].oncpu_s = 2;
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 1);
}

/* A helper that multiplies now and then is no second caller. */
TEST(callers_are_alike)
{
    plant_nested(2, 1, 280);
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 2);
    machine.tasks[0][1].oncpu_s = 1;
    machine.tasks[0][1].wait_s = 0.5;
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 1);
}

/* PyTorch's main thread and its backward pass have a team of OpenMP each, and take turns. */
TEST(callers_in_turns_share_a_team)
{
    view_plant(1);
    for (int t = 0; t < 2; t++) {
        add_task(0, MASK_ALL, t ? "lib/libtorch_cpu.so" : "", LIBRARY_GOMP, 4, 1);
        add_task(0, MASK_ALL, "lib/libgomp.so.1", 0, 4, 1);
    }
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 1);
    machine.tasks[0][0].oncpu_s = machine.tasks[0][2].oncpu_s = 8;
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).pools, 2);
}

static void expect_nested_openmp(char *settings, size_t size, const char *expected)
{
    struct env_changes changes;
    view_plant(1);
    machine.processes[0].mask = 0;
    machine.processes[0].settings = settings;
    machine.processes[0].settings_size = size;
    for (int t = 0; t < 4; t++)
        add_task(0, 0, t ? "lib/libgomp.so.1" : "", 0, 4, 4);
    const struct check_team team = check_team_of(&machine.view, &machine.processes[0]);
    check_team_set(&machine.processes[0], &team, 1, &changes);
    assert_string_equal(env_changes_format(&changes), expected);
}

/* OMP_NUM_THREADS=1 where it is 1 already, or by default, changes nothing. */
TEST(openmp_in_openmp_is_limited)
{
    static char levels[] = "OMP_MAX_ACTIVE_LEVELS=2\0OMP_NUM_THREADS=2",
                nested[] = "OMP_NESTED=true", list[] = "OMP_NUM_THREADS=2,2",
                one[] = "OMP_NUM_THREADS=1", four[] = "OMP_NUM_THREADS=4";
    expect_nested_openmp(levels, sizeof(levels),
                         "export OMP_NUM_THREADS=1 OMP_MAX_ACTIVE_LEVELS=1");
    expect_nested_openmp(nested, sizeof(nested),
                         "export OMP_NUM_THREADS=1 OMP_MAX_ACTIVE_LEVELS=1");
    expect_nested_openmp(list, sizeof(list), "export OMP_NUM_THREADS=1 OMP_MAX_ACTIVE_LEVELS=1");
    expect_nested_openmp(one, sizeof(one), "export OMP_THREAD_LIMIT=1");
    expect_nested_openmp(four, sizeof(four), "export OMP_NUM_THREADS=1");
}

/* A thread beside a team of OpenMP that has a thread for each CPU already, without a setting. */
TEST(the_default_of_openmp_is_not_set)
{
    struct env_changes changes;
    view_plant(1);
    machine.processes[0].mask = MASK_LOW;
    for (int t = 0; t < 3; t++)
        add_task(0, MASK_LOW, t ? "lib/libgomp.so.1" : "", 0, 4, 4);
    const struct check_team team = check_team_of(&machine.view, &machine.processes[0]);
    check_team_set(&machine.processes[0], &team, 2, &changes);
    assert_string_equal(env_changes_format(&changes), "");
    check_team_set(&machine.processes[0], &team, 1, &changes);
    assert_string_equal(env_changes_format(&changes), "export OMP_NUM_THREADS=1");
}

/* libgomp ends the threads of inner teams; without that, nested levels are no finding. */
TEST(inner_teams_that_come_and_go_are_named)
{
    for (unsigned turnover = 0; turnover < 4; turnover += 3) {
        view_plant(1);
        view_add_task(0, MASK_ALL, 5, 1);
        machine.about[0].libraries = LIBRARY_GOMP;
        machine.processes[0].turnover = turnover;
        SET(&machine.processes[0], command, "./job");
        SET(&machine.processes[0], settings, "OMP_NESTED=TRUE");
        view_judge();
        const struct found *found = view_look_for("openmp_settings");
        assert_int_equal(found != NULL, turnover > 0);
        if (found)
            assert_string_equal(found->finding.command, "OMP_MAX_ACTIVE_LEVELS=1 ./job");
        SET(&machine.processes[0], settings, "OMP_NESTED=TRUE\0OMP_MAX_ACTIVE_LEVELS=1");
        view_judge();
        assert_null(view_look_for("openmp_settings"));
    }
}

/* Four busy threads that a quota stops in each period. */
static void plant_quota(double quota, const char *from, unsigned threads)
{
    view_plant(1);
    for (unsigned t = 0; t < threads; t++)
        add_task(0, MASK_ALL, from, 0, 10 * quota / threads, 8);
    machine.processes[0].samples = 1000;
    machine.processes[0].spins = 20;
    view_limit(quota, 100, 30);
}

/* The setting is the command, and to lift the quota a remark; "" = no team is found. */
static void expect_quota(const char *command)
{
    view_judge();
    const struct found *team = view_look_for("team_over_quota"),
                       *stopped = view_look_for("throttled");
    assert_non_null(stopped);
    assert_int_equal(team != NULL, command[0] != 0);
    if (team) {
        assert_ptr_equal(team, &diagnosis.all[0]);
        assert_string_equal(team->finding.command, command);
        assert_int_equal(team->finding.severity, FINDING_BAD);
        assert_int_equal(stopped->finding.severity, FINDING_NOTE);
        assert_string_equal(stopped->finding.command, "");
        assert_has(stopped->finding.sentence, "echo max | sudo tee ");
        assert_null(view_look_for("run_queue"));
    } else
        assert_string_equal(stopped->finding.command,
                            "echo max | sudo tee /sys/fs/cgroup/a/cpu.max");
}

TEST(go_under_a_quota)
{
    plant_quota(0.3, "", 4);
    SET(&machine.processes[0], command, "./serve\0-v");
    machine.about[0].go_minor = 19;
    expect_quota("GOMAXPROCS=1 ./serve -v");
    SET(&machine.processes[0], settings, "GOMAXPROCS=8");
    expect_quota("GOMAXPROCS=1 ./serve -v");
    machine.about[0].go_minor = 25;
    expect_quota("GOMAXPROCS=1 ./serve -v");
    plant_quota(1.5, "", 4); /* as many as it takes to use up the quota */
    SET(&machine.processes[0], command, "./serve");
    machine.about[0].go_minor = 1;
    expect_quota("GOMAXPROCS=2 ./serve");
    plant_quota(0.3, "", 2); /* its threads take turns */
    SET(&machine.processes[0], command, "./serve");
    machine.about[0].go_minor = 25;
    expect_quota("");
    machine.about[0].go_minor = 19;
    SET(&machine.processes[0], settings, "GOMAXPROCS=1");
    expect_quota("");
}

TEST(a_jvm_under_a_quota)
{
    static const char jvm[] = "server/libjvm.so";
    plant_quota(0.3, jvm, 4);
    put_text(machine.processes[0].name, "java");
    SET(&machine.processes[0], command,
        "java\0-XX:ActiveProcessorCount=8\0Fj\0"
        "10");
    expect_quota("java -XX:ActiveProcessorCount=1 Fj 10");
    SET(&machine.processes[0], command, "/opt/jdk/bin/java\0Fj");
    expect_quota("JAVA_TOOL_OPTIONS=-XX:ActiveProcessorCount=1 /opt/jdk/bin/java Fj");
    SET(&machine.processes[0], settings, "JAVA_TOOL_OPTIONS=-Xmx1g -XX:ActiveProcessorCount=8");
    expect_quota("/opt/jdk/bin/java -XX:ActiveProcessorCount=1 Fj");
    plant_quota(0.3, jvm, 3); /* by itself it has a pool of one, a caller, a compiler */
    SET(&machine.processes[0], command, "java\0Fj");
    expect_quota("");
}

TEST(further_runtimes_under_a_quota)
{
    plant_quota(1, "Microsoft.NETCore.App/libcoreclr.so", 4);
    SET(&machine.processes[0], command, "dotnet\0a.dll");
    expect_quota("DOTNET_PROCESSOR_COUNT=1 dotnet a.dll");
    plant_quota(1, "lib/libjulia-internal.so.1", 4);
    SET(&machine.processes[0], command, "julia\0a.jl");
    expect_quota("JULIA_NUM_THREADS=1 julia a.jl");
    static const char *const names[][2] = {
        {"tokio-runtime-w", "TOKIO_WORKER_THREADS=1 ./serve"},
        {"libuv-worker", "UV_THREADPOOL_SIZE=1 ./serve"},
        {".NET TP Worker", "DOTNET_PROCESSOR_COUNT=1 ./serve"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        plant_quota(1, "release/serve", 4);
        SET(&machine.processes[0], command, "./serve");
        for (int t = 0; t < 4; t++)
            (void)snprintf(machine.tasks[0][t].name, VIEW_NAME_MAX, "%s", names[i][0]);
        expect_quota(names[i][1]);
    }
}

/* Two jobs of a thread pool on CPUs 0 and 1; a thread of the first one is bound to the second's. */
static void plant_escape(void)
{
    view_plant(2);
    for (size_t w = 0; w < 2; w++) {
        machine.processes[w].mask = (int)w;
        add_task(w, (int)w, "", 0, w ? 3.3 : 9, w ? 6.6 : 1);
        add_task(w, 1, "x64/libonnxruntime.so.1", 0, 3.3, 6.6);
        machine.processes[w].samples = 1000;
        machine.processes[w].spins = 350;
        SET(&machine.processes[w], command, "node\0ort.js");
    }
    view_occupy(0, 9.8);
    view_occupy(1, 9.8);
}

TEST(threads_that_leave_the_mask_of_their_process)
{
    plant_escape();
    view_judge();
    const struct found *found = &diagnosis.all[0];
    assert_string_equal(found->finding.id, "mask_escape");
    assert_string_equal(found->finding.command, "");
    assert_int_equal(found->npids, 2);
    assert_has(found->finding.sentence, "intra_op_num_threads");
    assert_true(found->gain.times > 1.3 && found->gain.times < 1 / 0.65);
    assert_null(view_look_for("more_threads_than_cpus"));
    assert_null(view_look_for("masks_overlap"));
}

/* Two threads get a smaller part of the CPUs than four do, beside others that want them too. */
TEST(fewer_threads_gain_less_beside_others)
{
    plant_escape();
    for (size_t w = 0; w < 2; w++)
        for (size_t t = 0; t < 2; t++)
            machine.tasks[w][t].oncpu_s *= 0.6;
    view_judge();
    assert_string_equal(diagnosis.all[0].finding.id, "mask_escape");
    assert_float_equal(diagnosis.all[0].gain.times, 1.13, 0.01);
}

/* Threads in their mask, bound on request, bound one by one, or alone where they went. */
TEST(threads_that_stay_are_left_alone)
{
    for (int way = 0; way < 4; way++) {
        plant_escape();
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
        view_judge();
        assert_null(view_look_for("mask_escape"));
    }
}

/* A start line that differs from the present start in nothing is not written. */
TEST(a_launch_that_changes_nothing_is_none)
{
    static const char *const places[] = {"/", "/kubepods/a",
                                         "/sys/fs/cgroup/system.slice/a.service"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct launch launch;
        struct env_changes changes = {0};
        view_plant(1);
        SET(&machine.processes[0], command, "./job");
        SET(&machine.processes[0], settings, "OMP_NUM_THREADS=8");
        view_put_in_group(0, places[i]);
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
