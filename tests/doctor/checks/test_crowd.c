/* Too many threads, on made-up views: which runtime made them, which variable sets their number,
 * whether they lose by it, and the command that restarts the job. */
#include "harness/doctor/checks/check_launch.h"
#include "harness/doctor/checks/check_runtime.h"
#include "tests/lib/fixture_view.h"
#include "tests/lib/unit.h"

/* Words that end with a 0 byte each, as in /proc. */
#define WORDS(process, words)                                                                      \
    ((process)->command = (words), (process)->command_size = sizeof(words))

/* `n` workers, each with a thread for every CPU; the threads began in the file `from`. */
static void plant_n_teams(unsigned n, const char *from, unsigned spins)
{
    static char train[] = "python3\0train.py";
    view_plant(n);
    view_plant_topo("node:2 core:2 pu:1");
    for (size_t w = 0; w < n; w++) {
        for (int t = 0; t < 4; t++) {
            view_add_task(w, MASK_ALL, 9.8 / n, 10 - 10.0 / n);
            (void)snprintf(machine.tasks[w][t].from, VIEW_FROM_MAX, "%s", t ? from : "");
        }
        machine.processes[w].samples = 1000;
        machine.processes[w].spins = spins;
        WORDS(&machine.processes[w], train);
    }
    view_occupy_all(9.9);
}

static void plant_teams(const char *from, unsigned spins)
{
    plant_n_teams(2, from, spins);
}

static void set(size_t worker, char *settings, size_t size)
{
    machine.processes[worker].settings = settings;
    machine.processes[worker].settings_size = size;
}

/* As two plain PyTorch workers on one machine, where pinning to halves gained nothing. */
TEST(teams_that_spin_are_told_to_be_smaller)
{
    plant_teams("lib/libgomp-a34b3233.so.1", 940);
    const struct found *found = view_judge_first("more_threads_than_cpus");
    assert_int_equal(found->finding.severity, FINDING_BAD);
    assert_string_equal(found->finding.command, "OMP_NUM_THREADS=2 python3 train.py");
    assert_float_equal(found->gain.times, 8, 0.01);
    assert_int_equal(found->cure, CURE_RESTART);
    assert_non_null(found->gain.at_least);
    assert_int_equal(found->npids, 2);
    assert_int_equal(found->env_changes.n, 1);
    assert_string_equal(found->env_changes.settings[0], "OMP_NUM_THREADS=2");
    assert_has(found->finding.sentence, "8 runnable threads share 4 CPUs (0-3)");
    assert_has(found->finding.sentence, "94%");
    assert_has(found->finding.sentence, "taskset -acp 0-1 100 && taskset -acp 2-3 101");
    assert_null(view_look_for("masks_overlap"));
}

/* Threads that compute lose nothing by their number: no finding with a cost. */
TEST(teams_that_compute_are_left_alone)
{
    plant_teams("lib/libopencv_core.so.410", 50);
    view_judge_lacks("more_threads_than_cpus");
    assert_false(diagnosis_is_bad(&diagnosis));
}

/* Three workers with a thread each leave one of four CPUs idle, so not all the spinning is gained.
 * Two workers fill all four CPUs and gain at least that much. */
TEST(a_gain_is_what_fewer_threads_can_use)
{
    static const struct {
        unsigned n, spins;
        double times; /* 0 = no finding */
    } cases[] = {{3, 300, 0}, {3, 600, 1.65}, {2, 600, 2.14}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_n_teams(cases[i].n, "lib/libopencv_core.so.410", cases[i].spins);
        view_judge();
        const struct found *found = view_look_for("more_threads_than_cpus");
        const double times = found ? found->gain.times : 0;
        assert_float_equal(times, cases[i].times, 0.01);
    }
}

/* Many threads that sleep at barriers each want a part of a CPU: too many threads as well. */
TEST(a_team_that_sleeps_at_barriers_is_a_crowd)
{
    view_plant(1);
    machine.processes[0].mask = 0;
    for (int t = 0; t < 4; t++) {
        view_add_task(0, 0, 2.4, 1.8);
        (void)snprintf(machine.tasks[0][t].from, VIEW_FROM_MAX, "lib/libgomp.so.1");
    }
    machine.processes[0].samples = 1000;
    machine.processes[0].spins = 600;
    view_occupy_all(9.8);
    (void)view_judge_first("more_threads_than_cpus");
    assert_has(diagnosis.all[0].finding.sentence, "4 runnable threads share 1 CPU");
    machine.processes[0].spins = 50; /* threads that compute do not lose by it */
    view_judge_lacks("more_threads_than_cpus");
    const struct found *found = view_look_for("run_queue");
    assert_int_equal(found->finding.severity, FINDING_NOTE);
    /* A helper that is seldom busy does not belong to the team. */
    machine.processes[0].ntasks = 1;
    machine.tasks[0][0].wait_s = 5;
    view_add_task(0, 0, 2, 1);
    assert_int_equal(check_team_of(&machine.view, &machine.processes[0]).threads, 1);
}

/* A team as large as the machine beside a busy thread: each barrier waits for the thread that lost
 * its CPU. The single thread keeps its CPU, and the team gets the others. */
TEST(a_spinning_team_leaves_room_for_single_threads)
{
    view_plant(2);
    for (int t = 0; t < 4; t++) {
        view_add_task(0, MASK_ALL, 6.6, 1.2);
        (void)snprintf(machine.tasks[0][t].from, VIEW_FROM_MAX, "lib/libgomp.so.1");
    }
    view_add_task(1, MASK_ALL, 9, 0.9);
    machine.processes[0].samples = 1000;
    machine.processes[0].spins = 900;
    WORDS(&machine.processes[0], "prep\0all");
    view_occupy_all(9.8);
    const struct found *found = view_judge_first("more_threads_than_cpus");
    assert_string_equal(found->finding.command, "OMP_NUM_THREADS=3 prep all");
    assert_has(found->finding.sentence, "2 processes with 5 runnable threads share 4");
    machine.processes[0].spins = 200; /* too few spinning samples: these threads compute */
    view_judge_lacks("more_threads_than_cpus");
}

/* Others that want more than all CPUs, or compute in teams of their own, do not hide a team that
 * spins: each was once enough for "No problem". */
TEST(others_do_not_dilute_a_team_that_spins)
{
    for (unsigned threads = 1; threads <= 4; threads += 3) {
        view_plant(4);
        for (size_t w = 0; w < 4; w++) {
            const unsigned its = w ? threads : 2;
            for (unsigned t = 0; t < its; t++)
                view_add_task(w, MASK_LOW, w ? 6.2 / its : 0.6, 2);
            machine.processes[w].samples = 1000;
            machine.processes[w].spins = w ? 10 : 900;
        }
        WORDS(&machine.processes[0], "prep\0all");
        (void)snprintf(machine.tasks[0][1].from, VIEW_FROM_MAX, "lib/libgomp.so.1");
        view_occupy_all(9.9);
        const struct found *found = view_judge_first("more_threads_than_cpus");
        assert_int_equal(found->npids, 1);
        assert_float_equal(found->cost, 0.9, 1e-9);
        assert_string_equal(found->finding.command, "OMP_NUM_THREADS=1 prep all");
    }
}

/* Samples that the kernel refused count as the thread's own work, unless the thread yields: then
 * they count as waiting. */
TEST(the_kernels_time_is_waiting_for_those_that_call_it)
{
    static const struct {
        unsigned samples, spins, calls, missing_samples;
        double share;
    } cases[] = {
        {100, 2, 2, 60, 62.0 / 160},                    /* OpenBLAS: yields, otherwise computes */
        {100, 15, 0, 20, 35.0 / 120},                   /* spins, then sleeps */
        {100, 2, 0, 60, 2.0 / 160},                     /* reads a disk */
        {100, 80, 1, 0, 0.8},         {20, 0, 0, 5, 0}, /* few, but none spins */
    };
    struct view_process process = {0};
    assert_true(isnan(view_spin_share(&process)));
    process.samples = 19;
    assert_true(isnan(view_spin_share(&process)));
    process = (struct view_process){.samples = 49, .spins = 1};
    assert_true(isnan(view_spin_share(&process)));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        process.samples = cases[i].samples;
        process.spins = cases[i].spins;
        process.calls = cases[i].calls;
        process.missing_samples = cases[i].missing_samples;
        assert_float_equal(view_spin_share(&process), cases[i].share, 1e-9);
    }
}

/* TBB reads no variable but starts threads by its mask; other code may do so as well. */
TEST(without_a_variable_they_start_on_fewer_cpus)
{
    static const char *const from[] = {"lib/libtbb.so.12", "bin/engine"};
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        plant_teams(from[i], 900);
        (void)view_judge_first("more_threads_than_cpus");
        assert_string_equal(diagnosis.all[0].finding.command,
                            "taskset -c 0-1 python3 train.py & taskset -c 2-3 python3 train.py");
    }
}

/* Without samples, libgomp's threads are assumed to spin, unless the environment says otherwise. */
TEST(without_a_look_the_kind_decides)
{
    static char passive[] = "OMP_WAIT_POLICY=PASSIVE";
    static const struct {
        const char *from;
        bool is_passive;
        enum finding_severity severity;
    } cases[] = {{"lib/libgomp.so.1", false, FINDING_BAD},
                 {"lib/libgomp.so.1", true, FINDING_DOUBT},
                 {"cv2/cv2.abi3.so", false, FINDING_DOUBT},
                 {"bin/engine", false, FINDING_DOUBT}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plant_teams(cases[i].from, 0);
        for (size_t w = 0; w < 2; w++) {
            machine.processes[w].samples = 0;
            if (cases[i].is_passive)
                set(w, passive, sizeof(passive));
        }
        const struct found *found = view_judge_found("more_threads_than_cpus");
        assert_int_equal(found->finding.severity, cases[i].severity);
        assert_true(isnan(found->gain.times));
    }
}

/* Beside busy others it gets little CPU time: that is no sign that its threads are too many. */
TEST(few_samples_are_no_sign)
{
    for (unsigned samples = 0; samples < 20; samples += 10) {
        plant_teams("bin/python3.11", 0);
        machine.processes[0].samples = machine.processes[1].samples = samples;
        view_judge();
        assert_int_equal(view_look_for("more_threads_than_cpus") != NULL, !samples);
    }
}

/* The variable that each runtime reads, and variables that are set and would overrule it. */
TEST(each_runtime_has_its_setting)
{
    static char mkl[] = "MKL_NUM_THREADS=16\0OMP_NUM_THREADS=16";
    static const struct {
        const char *from;
        unsigned libraries;
        bool is_set;
        const char *words, *runtime;
    } cases[] = {
        {"lib/libiomp5.so", LIBRARY_IOMP | LIBRARY_MKL, true,
         "export OMP_NUM_THREADS=2 MKL_NUM_THREADS=2", "libiomp5, which reads OMP_NUM_THREADS"},
        {"lib/libgomp.so.1", LIBRARY_GOMP, true, "export OMP_NUM_THREADS=2", "libgomp,"},
        {"numpy.libs/libscipy_openblas64_-ff651d7f.so", LIBRARY_OPENBLAS, false,
         "export OPENBLAS_NUM_THREADS=2", "OpenBLAS,"},
        {"cv2/cv2.abi3.so", 0, false, "export OPENCV_FOR_THREADS_NUM=2", "cv2.setNumThreads"},
        {"tokenizers/tokenizers.abi3.so", 0, false, "export RAYON_NUM_THREADS=2", "tokenizers"},
        {"numexpr/interpreter.cpython-312-x86_64-linux-gnu.so", 0, false,
         "export NUMEXPR_NUM_THREADS=2", "numexpr,"},
        {"lib/libtbb.so.12", 0, false, "", "tbb::global_control"},
        {"lib/libtorch_cpu.so", 0, false, "export OMP_NUM_THREADS=2", "torch.set_num_threads"},
        {"bin/spin", LIBRARY_GOMP, false, "", "code of spin"},
        {"", LIBRARY_OPENBLAS, false, "export OPENBLAS_NUM_THREADS=2", "probably OpenBLAS,"},
        {"", LIBRARY_OPENBLAS | LIBRARY_GOMP, false, "", "not known"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct env_changes env_changes;
        plant_teams(cases[i].from, 0);
        machine.about[0].libraries = cases[i].libraries;
        set(0, mkl, cases[i].is_set ? sizeof(mkl) : 0);
        struct check_team team = check_team_of(&machine.view, &machine.processes[0]);
        assert_int_equal(team.threads, 4);
        check_team_set(&machine.processes[0], &team, 2, &env_changes);
        assert_string_equal(env_changes_format(&env_changes), cases[i].words);
        const char *text = check_team_format(&team);
        assert_has(text, cases[i].runtime);
    }
}

struct words {
    char *text;
    size_t size;
};
#define OF(literal) ((struct words){(char[]){literal}, sizeof(literal)})

/* The launch line of a job with that environment and cgroup, whose parent has another
 * environment. */
static struct launch launch(struct words environment, const char *cgroup, struct words parent,
                            struct words parents, struct words own)
{
    struct launch launch;
    struct env_changes env_changes = {0};
    env_changes_set(&env_changes, "OMP_NUM_THREADS", 8);
    view_plant(2);
    machine.processes[1].parent = 100;
    machine.processes[0].command = parent.text;
    machine.processes[0].command_size = parent.size;
    machine.processes[1].command = own.text;
    machine.processes[1].command_size = own.size;
    set(0, parents.text, parents.size);
    set(1, environment.text, environment.size);
    view_put_in_group(1, cgroup);
    launch_write(&machine.view, &machine.processes[1], &env_changes, NULL, 8, &launch);
    return launch;
}

static void expect(struct launch launch, const char *command, const char *expected)
{
    assert_string_equal(launch.command, command);
    assert_has(launch.how, expected);
}

#define EXPECT_LAUNCH_OF(environment, cgroup, parent, parents, own, command, expected)             \
    expect(launch(OF(environment), cgroup, OF(parent), OF(parents), OF(own)), command, expected)
#define EXPECT_LAUNCH(environment, cgroup, parent, own, command, expected)                         \
    EXPECT_LAUNCH_OF(environment, cgroup, parent, "", own, command, expected)

#define DOCKER_CGROUP                                                                              \
    "/sys/fs/cgroup/system.slice/docker-"                                                          \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope"

TEST(the_next_start_is_that_of_its_launcher)
{
    EXPECT_LAUNCH("", "/sys/fs/cgroup/user.slice/session-3.scope", "bash",
                  "python3\0train.py\0--name\0my run",
                  "OMP_NUM_THREADS=8 python3 train.py --name 'my run'",
                  "neither its directory nor the rest of its environment. To undo it, start "
                  "it as before");
    EXPECT_LAUNCH(
        "TORCHELASTIC_RUN_ID=none", "/",
        "/usr/bin/python3\0/opt/bin/torchrun\0"
        "--nproc-per-node=2\0train.py",
        "/usr/bin/python3\0-u\0train.py",
        "OMP_NUM_THREADS=8 /usr/bin/python3 /opt/bin/torchrun '--nproc-per-node=2' train.py",
        "torchrun starts it");
    EXPECT_LAUNCH("OMPI_COMM_WORLD_SIZE=2", "/",
                  "/opt/bin/mpirun\0-n\0"
                  "2\0./job",
                  "./job", "/opt/bin/mpirun -x OMP_NUM_THREADS=8 -n 2 ./job", "mpirun starts it");
    EXPECT_LAUNCH("PMI_SIZE=2", "/",
                  "python3\0/opt/it's/mpiexec\0-n\0"
                  "2\0./job",
                  "./job", "python3 '/opt/it'\\''s/mpiexec' -genv OMP_NUM_THREADS 8 -n 2 ./job",
                  "mpiexec starts it");
    EXPECT_LAUNCH("SLURM_JOB_ID=7", "/", "slurmstepd: [7.0]", "./job",
                  "OMP_NUM_THREADS=8 srun --cpus-per-task=8 ./job", "#SBATCH --cpus-per-task=8");
    EXPECT_LAUNCH(
        "", "/sys/fs/cgroup/system.slice/infer.service", "systemd", "./job",
        "sudo mkdir -p /etc/systemd/system/infer.service.d && printf "
        "'[Service]\\nEnvironment=OMP_NUM_THREADS=8\\n' | sudo tee "
        "/etc/systemd/system/infer.service.d/threads.conf && sudo systemctl daemon-reload "
        "&& sudo systemctl restart infer",
        "delete threads.conf");
    EXPECT_LAUNCH("", "/sys/fs/cgroup/system.slice/cron.service", "cron", "./job",
                  "OMP_NUM_THREADS=8 ./job", "start it as before");
    EXPECT_LAUNCH("", DOCKER_CGROUP, "containerd-shim", "python3\0serve.py",
                  "docker run -e OMP_NUM_THREADS=8 ... IMAGE python3 serve.py",
                  "container 0123456789ab");
    EXPECT_LAUNCH("KUBERNETES_SERVICE_HOST=10.0.0.1", "/", "sh", "python3\0serve.py",
                  "kubectl set env deployment/NAME OMP_NUM_THREADS=8", "Kubernetes starts it");
    EXPECT_LAUNCH("", "/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice", "sh",
                  "python3\0serve.py", "kubectl set env deployment/NAME OMP_NUM_THREADS=8",
                  "Kubernetes starts it");
}

#define SECOND "CUDA_VISIBLE_DEVICES=1\0LOCAL_RANK=1\0MASTER_ADDR=a b\0NVIDIA_VISIBLE_DEVICES=all"

/* The line repeats the variables that choose GPU and rank of the process that it starts. It omits
 * those that a launcher sets. */
TEST(the_next_start_has_its_gpu_and_rank)
{
    EXPECT_LAUNCH(SECOND, "/", "bash", "./job",
                  "OMP_NUM_THREADS=8 CUDA_VISIBLE_DEVICES=1 LOCAL_RANK=1 MASTER_ADDR='a b' ./job",
                  "");
    EXPECT_LAUNCH(SECOND, DOCKER_CGROUP, "containerd-shim", "./job",
                  "docker run -e OMP_NUM_THREADS=8 -e NVIDIA_VISIBLE_DEVICES=all -e "
                  "CUDA_VISIBLE_DEVICES=1 -e LOCAL_RANK=1 -e MASTER_ADDR='a b' ... IMAGE ./job",
                  "");
    EXPECT_LAUNCH_OF("TORCHELASTIC_RUN_ID=none\0" SECOND, "/", "torchrun\0train.py",
                     "CUDA_VISIBLE_DEVICES=2,3", "python3\0train.py",
                     "OMP_NUM_THREADS=8 CUDA_VISIBLE_DEVICES=2,3 torchrun train.py", "");
    EXPECT_LAUNCH_OF("OMPI_COMM_WORLD_SIZE=2\0" SECOND, "/", "mpirun\0./job",
                     "CUDA_VISIBLE_DEVICES=2,3", "./job",
                     "CUDA_VISIBLE_DEVICES=2,3 mpirun -x OMP_NUM_THREADS=8 ./job", "");
    EXPECT_LAUNCH_OF("PMI_SIZE=2\0" SECOND, "/", "mpiexec\0./job", "CUDA_VISIBLE_DEVICES=2,3",
                     "./job", "CUDA_VISIBLE_DEVICES=2,3 mpiexec -genv OMP_NUM_THREADS 8 ./job", "");
    EXPECT_LAUNCH("SLURM_JOB_ID=7\0SLURM_STEP_ID=0\0" SECOND, "/", "slurmstepd: [7.0]", "./job",
                  "OMP_NUM_THREADS=8 srun --cpus-per-task=8 ./job", "");
    EXPECT_LAUNCH("SLURM_JOB_ID=7\0LOCAL_RANK=1", "/", "bash", "./job",
                  "OMP_NUM_THREADS=8 LOCAL_RANK=1 srun --cpus-per-task=8 ./job", "");
    EXPECT_LAUNCH("KUBERNETES_SERVICE_HOST=10.0.0.1\0" SECOND, "/", "sh", "python3\0serve.py",
                  "kubectl set env deployment/NAME OMP_NUM_THREADS=8", "");
    struct launch unit = launch(OF(SECOND), "/sys/fs/cgroup/system.slice/infer.service",
                                OF("systemd"), OF(""), OF("./job"));
    assert_lacks(unit.command, "RANK");
    /* The parent of the helper set its rank, and will set it again. */
    EXPECT_LAUNCH_OF("LOCAL_RANK=1", "/", "python3\0a.py", "CUDA_VISIBLE_DEVICES=4,5",
                     "python3\0-c\0from multiprocessing.spawn import spawn_main; spawn_main(3)",
                     "OMP_NUM_THREADS=8 CUDA_VISIBLE_DEVICES=4,5 python3 a.py", "");
}

/* Two workers of one script: a line for each, until no more fit. */
TEST(workers_of_one_script_start_apart)
{
    char ranks[2][32] = {"LOCAL_RANK=0", "LOCAL_RANK=1"}, script[500];
    plant_teams("lib/libgomp.so.1", 940);
    for (size_t w = 0; w < 2; w++)
        set(w, ranks[w], sizeof("LOCAL_RANK=0"));
    view_judge();
    assert_string_equal(diagnosis.all[0].finding.command,
                        "OMP_NUM_THREADS=2 LOCAL_RANK=0 python3 train.py & "
                        "OMP_NUM_THREADS=2 LOCAL_RANK=1 python3 train.py");
    assert_lacks(diagnosis.all[0].finding.sentence, "not listed");
    memset(script, 'x', sizeof(script));
    script[sizeof(script) - 1] = '\0';
    for (size_t w = 0; w < 2; w++)
        WORDS(&machine.processes[w], script);
    view_judge();
    assert_has(diagnosis.all[0].finding.command, "LOCAL_RANK=0");
    assert_lacks(diagnosis.all[0].finding.command, "LOCAL_RANK=1");
    assert_has(diagnosis.all[0].finding.sentence, "1 more is not listed");
}

/* Arguments of other users' processes are quoted for a shell and a terminal, and may be long. */
TEST(arguments_of_others_are_text)
{
    char many[900] = "job";
    struct launch made;
    const struct env_changes env_changes = {1, {"OMP_NUM_THREADS=8"}};
    EXPECT_LAUNCH("", "/", "sh", "./job\0$(reboot)\0a;b\0it's",
                  "OMP_NUM_THREADS=8 ./job '$(reboot)' 'a;b' 'it'\\''s'", "");
    EXPECT_LAUNCH("", "/", "sh", "python3\0-c\0import os\nos.fork()\0x",
                  "OMP_NUM_THREADS=8 python3 -c ...", "");
    EXPECT_LAUNCH("", "/", "sh", "\033[2J", "OMP_NUM_THREADS=8 ...", "");
    EXPECT_LAUNCH("", "/sys/fs/cgroup/system.slice/a;reboot.service", "sh", "./job",
                  "OMP_NUM_THREADS=8 ./job", "");
    /* A parent starts its forks and Python's helpers, so the line starts the parent. */
    EXPECT_LAUNCH("", "/", "python3\0a.py", "python3\0a.py", "OMP_NUM_THREADS=8 python3 a.py", "");
    EXPECT_LAUNCH("", "/", "python3\0a.py",
                  "python3\0-c\0from multiprocessing.spawn import spawn_main; spawn_main(3)",
                  "OMP_NUM_THREADS=8 python3 a.py", "");
    view_plant(1);
    for (size_t i = 4; i < sizeof(many) - 1; i++)
        many[i] = i % 10 ? 'x' : '\0';
    WORDS(&machine.processes[0], many);
    launch_write(&machine.view, &machine.processes[0], &env_changes, NULL, 8, &made);
    assert_true(strlen(made.command) < LAUNCH_COMMAND_MAX);
    assert_string_equal(made.command + strlen(made.command) - 4, " ...");
    machine.processes[0].command_size = 0; /* another user's process, which we may not read */
    launch_write(&machine.view, &machine.processes[0], &env_changes, NULL, 8, &made);
    assert_string_equal(made.command, "");
}

/* Environments of other users' processes are quoted as well. */
TEST(environments_of_others_are_text)
{
    static char longest[400] = "TF_CONFIG={\"cluster\":\"";
    struct launch made;
    const struct env_changes env_changes = {1, {"OMP_NUM_THREADS=8"}};
    EXPECT_LAUNCH("RANK=$(reboot)\0LOCAL_RANK=1;reboot\0MASTER_ADDR='`reboot`'", "/", "sh", "./job",
                  "OMP_NUM_THREADS=8 RANK='$(reboot)' LOCAL_RANK='1;reboot' "
                  "MASTER_ADDR=''\\''`reboot`'\\''' ./job",
                  "");
    EXPECT_LAUNCH("RANK;reboot=1\0RANKS=2\0LOCAL_RANK_OF=3\0RANK", "/", "sh", "./job",
                  "OMP_NUM_THREADS=8 ./job", "");
    EXPECT_LAUNCH("CUDA_VISIBLE_DEVICES=", "/", "sh", "./job",
                  "OMP_NUM_THREADS=8 CUDA_VISIBLE_DEVICES='' ./job", "");
    EXPECT_LAUNCH("RANK=1\nreboot\0LOCAL_RANK=\033[2J\0WORLD_SIZE=2", "/", "sh", "./job",
                  "OMP_NUM_THREADS=8 WORLD_SIZE=2 ./job", "Also set RANK, LOCAL_RANK as before.");
    view_plant(1);
    memset(longest + strlen(longest), 'x', sizeof(longest) - strlen(longest) - 1);
    WORDS(&machine.processes[0], longest);
    set(0, longest, sizeof(longest));
    launch_write(&machine.view, &machine.processes[0], &env_changes, NULL, 8, &made);
    assert_has(made.how, "Also set TF_CONFIG as before.");
    machine.processes[0].environ_refused = true;
    machine.processes[0].settings_size = 0;
    launch_write(&machine.view, &machine.processes[0], &env_changes, NULL, 8, &made);
    assert_has(made.how, "not readable: set its GPU and rank.");
}

/* Three processes on CPU 0 of a node with two CPUs; the other CPU is idle. */
TEST(an_idle_cpu_is_given_before_fewer_are_run)
{
    view_plant(3);
    for (size_t w = 0; w < 3; w++) {
        machine.processes[w].mask = 0;
        view_add_task(w, 0, 3.3, 6.7);
    }
    view_occupy(0, 10);
    const struct found *found = view_judge_first("masks_overlap");
    assert_string_equal(found->finding.command,
                        "taskset -acp 0-1 100 && taskset -acp 0-1 101 && taskset -acp 0-1 102");
    assert_true(fabs(found->gain.times - 20 / 9.9) < 1e-9);
    assert_null(found->gain.at_least);
    assert_lacks(found->finding.sentence, "fewer");
    /* If the second CPU is busy, there is none to give, and the total cannot rise. */
    view_occupy(1, 10);
    found = view_judge_found("masks_overlap");
    assert_int_equal(found->finding.severity, FINDING_NOTE);
}

/* Three processes that feed each other by pipes, on CPUs that are idle now and then; and the same
 * beside others that leave them less. */
TEST(a_pipeline_that_waits_now_and_then_lacks_nothing)
{
    for (int lacks = 0; lacks < 2; lacks++) {
        view_plant(3);
        for (unsigned cpu = 0; cpu < 4; cpu++)
            view_occupy(cpu, cpu < 2 && !lacks ? 6.5 : 10);
        for (size_t w = 0; w < 3; w++) {
            machine.processes[w].mask = MASK_LOW;
            view_add_task(w, MASK_LOW, w ? 3 : 7, lacks ? 3 : 1.2);
        }
        view_judge();
        assert_int_equal(view_look_for("masks_overlap") != NULL, lacks);
        assert_null(view_look_for("run_queue"));
    }
}

/* Workers with two threads of libgomp each, all on CPU 0 of four; `spins` of 1000 samples spin. */
static void judge_narrow(size_t workers, double oncpu_s, double wait_s, unsigned spins)
{
    view_plant(workers);
    machine.view.nnodes = 1;
    machine.view.node_cpus[0] = view_range(0, 3);
    for (size_t w = 0; w < workers; w++) {
        machine.processes[w].mask = 0;
        machine.processes[w].samples = 1000;
        machine.processes[w].spins = spins;
        for (int t = 0; t < 2; t++) {
            view_add_task(w, 0, oncpu_s, wait_s);
            (void)snprintf(machine.tasks[w][t].from, VIEW_FROM_MAX, "lib/libgomp.so.1");
        }
    }
    view_occupy(0, 9.9);
    view_judge();
}

/* Threads that compute gain as much as they get CPUs. Threads that wait for each other gain more:
 * on a real machine 2x was promised and 32x came. */
TEST(more_cpus_gain_the_least_where_threads_wait_for_each_other)
{
    static const struct {
        size_t workers;
        double oncpu_s, wait_s;
        unsigned spins;
        double times;
        bool is_bound;
    } cases[] = {{1, 4.95, 5, 50, 2, false},     {1, 4.95, 5, 940, 2, true},
                 {1, 4.95, 1.4, 50, 1.28, true}, /* sleep at barriers: want a part of a CPU each */
                 {2, 2.4, 7.6, 50, 4.17, false}, {2, 2.4, 7.6, 940, 4.17, true},
                 {1, 0.5, 9.5, 50, 20, false}}; /* the run queue alone decides, without samples */
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        judge_narrow(cases[i].workers, cases[i].oncpu_s, cases[i].wait_s, cases[i].spins);
        const struct found *found =
            view_look_for(cases[i].workers == 1 ? "narrow_mask" : "masks_overlap");
        assert_non_null(found);
        assert_true(fabs(found->gain.times / cases[i].times - 1) < 0.01);
        assert_int_equal(found->gain.at_least != NULL, cases[i].is_bound);
    }
}

/* It keeps its CPU, and those beside it wait. */
TEST(one_that_spins_for_a_gpu_may_not_wait)
{
    view_plant(2);
    view_add_task(0, MASK_LOW, 9.8, 0);
    view_add_task(1, MASK_LOW, 5, 5);
    view_add_task(1, MASK_LOW, 5, 5);
    machine.tasks[0][0].is_detailed = true;
    machine.tasks[0][0].user_s = 9.8;
    machine.processes[0].gpu_device = true;
    view_occupy(0, 10);
    view_occupy(1, 10);
    assert_int_equal(view_judge_found("spin_wait")->pids[0], 100);
    machine.tasks[1][0].oncpu_s = machine.tasks[1][0].wait_s = 90; /* it takes a tenth: no cause */
    view_judge_lacks("spin_wait");
    machine.tasks[1][0].oncpu_s = 5;
    machine.tasks[1][0].wait_s = machine.tasks[1][1].wait_s = 0;
    view_judge_lacks("spin_wait");
}

/* A mapped driver is no context. NVML reports which processes have one; without NVML an open device
 * counts, unless a forked child shares it with its parent. */
TEST(only_a_context_spins_for_a_gpu)
{
    static char other[] = "other";
    static const unsigned expected[] = {0, 2, 1, 1, 2};
    for (int way = 0; way < 5; way++) {
        view_plant(2);
        for (size_t w = 0; w < 2; w++) {
            machine.about[w].libraries = LIBRARY_CUDA;
            view_add_task(w, 0, 5, 5);
            machine.tasks[w][0].is_detailed = true;
            machine.tasks[w][0].user_s = 5;
            machine.processes[w].gpu_device = way != 0;
        }
        machine.processes[1].parent = way == 2 || way == 4 ? 100 : 1;
        if (way == 4) { /* started by exec, so not a fork */
            machine.processes[1].command = other;
            machine.processes[1].command_size = sizeof(other);
        }
        if (way == 3)
            view_use_gpu(0, 0);
        view_judge();
        unsigned n = 0;
        for (size_t i = 0; i < diagnosis.n; i++)
            n += strcmp(diagnosis.all[i].finding.id, "spin_wait") == 0;
        assert_int_equal(n, expected[way]);
    }
}
