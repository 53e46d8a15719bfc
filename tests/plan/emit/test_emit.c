/* The texts of plans, and what is refused. tests/cli/emit.sh runs these texts. */
#include "harness/plan/emit/emit.h"
#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

struct machine {
    const char *description, *gpus;
    enum placement placement;
    unsigned workers, background;
    bool renumbered;
    unsigned reserve;
    unsigned from; /* CPUs below `from` are not allowed, so our mask is not the whole machine */
};

static const struct machine two_nodes = {
    "package:2 numa:1 core:4 pu:1", "81:00.0@1,01:00.0@0", PLACE_GPU_LOCAL, 2, 0, false};
static const struct machine one_node = {
    "package:1 core:6 pu:1", NULL, PLACE_PARTITION, 2, 0, false};

static char *emit_for(const struct machine *machine, enum emit_format format,
                      const char *const *words, struct err *err)
{
    AUTO(topo) topo = fixture_topo(machine->description, machine->gpus);
    AUTO(plan) plan = {0};
    struct plan_request request = {.placement = machine->placement,
                                   .workers = machine->workers,
                                   .background = machine->background,
                                   .reserve_cores = machine->reserve};
    for (unsigned i = 0; i < topo.ncpus; i++)
        topo.cpus[i].allowed = topo.cpus[i].os_cpu >= machine->from;
    if (plan_make(&topo, &request, &plan, err))
        fail_msg("%s: %s", machine->description, err->msg);
    assert_int_equal(plan.status, PLAN_OK);
    struct emit_job job = {
        .topo = &topo, .plan = &plan, .words = words, .renumbered = machine->renumbered};
    char *text = emit_text(format, &job, err);
    return text;
}

static void assert_says(const struct machine *machine, enum emit_format format,
                        const char *const *words, const char *const *parts)
{
    struct err err = {0};
    FREED char *text = emit_for(machine, format, words, &err);
    if (!text) {
        fail_msg("%s: %s", emit_names[format], err.msg);
        return;
    }
    for (; *parts; parts++) {
        bool absent = **parts == '!';
        if ((strstr(text, *parts + absent) == NULL) != absent)
            fail_msg("%s: '%s' in: %s", emit_names[format], *parts, text);
    }
}

/* Worker 0 of two_nodes is on node 1 and has the GPU that is second on the bus. */
TEST(emit_says_cpus_memory_and_gpus)
{
    static const char *const words[] = {"./w", "--rank={worker}/{workers}", NULL};
    static const struct {
        enum emit_format format;
        const char *parts[8];
    } cases[] = {
        {EMIT_COMMANDS,
         {"  CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=4 numactl "
          "--physcpubind=4-7 --membind=1 ./w '--rank=0/2' &\n"}},
        {EMIT_SH, {"exec setsid -- taskset -c 4-7 ./w '--rank=0/2'\n", "--emit numactl binds it"}},
        {EMIT_NUMACTL, {"bound \"4-7\" \"--membind=1\" ./w '--rank=0/2'\n", "package numactl"}},
        {EMIT_SYSTEMD,
         {"CPUAffinity=4-7\n", "\nNUMAPolicy=bind\nNUMAMask=1\n",
          "-p CPUAffinity=0-3 ${numa:+-p NUMAPolicy=bind -p NUMAMask=0} -p UnsetEnvironment=\"OMP_",
          "\"--rank=1/2\"\n"}},
        {EMIT_DOCKER,
         {"mems 0 1\n", "--cpuset-cpus 4-7 ${mems:+--cpuset-mems \"$mems\"} --gpus device=1",
          "sees its own GPU alone", "!CUDA_VISIBLE_DEVICES", "--ulimit \"memlock=${MEMLOCK:--1}\"",
          "--shm-size"}},
        {EMIT_SLURM,
         {"--cpu-bind=mask_cpu:0xf0,0xf --gpus-per-node=2 --gpu-bind=none",
          "#SBATCH --nodes=1 --exclusive --ntasks=2 --gpus-per-node=2\n",
          "salloc -N 1 --exclusive -n 2 --gpus-per-node=2 sh FILE", "CUDA_VISIBLE_DEVICES=1",
          "bound \"4-7\" \"--membind=1\""}},
        {EMIT_TORCHRUN, {"export CUDA_VISIBLE_DEVICES=1,0\n", "--nproc-per-node=2 --no-python"}},
        {EMIT_MPIRUN,
         {"rank 0=localhost slot=4-7\nrank 1=localhost slot=0-3\n", "export I_MPI_PIN=0\n"}},
        {EMIT_ENV, {"bind \"{4:4}\" 4-7 \"{4}:4\"\n", "No memory is bound", "share that CPU"}},
        {EMIT_WSL_BAT, {"--membind=1 true\"\r\n", "cpu/cpu7\r\n"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_says(&two_nodes, cases[i].format, words, cases[i].parts);
}

/* Pods get the CPUs that are not reserved: enough for all requests, as whole cores if a request
 * fills them. */
TEST(emit_k8s_reserves_what_the_plan_leaves)
{
    static const char *const words[] = {"./w", "--rank={worker}/{workers}", NULL};
    static const struct {
        struct machine machine;
        const char *parts[8];
    } cases[] = {
        {{"package:2 numa:1 core:4 pu:1", "81:00.0@1,01:00.0@0", PLACE_GPU_LOCAL, 2, 0, false, 1},
         {"limits: {cpu: \"4\", memory: 8Gi, nvidia.com/gpu: 1}", "cpuManagerPolicy: static",
          "topologyManagerPolicy: single-numa-node", "- \"--rank=1/2\"\n",
          "reservedSystemCPUs: \"0\" #"}},
        {{"package:2 core:3 pu:2(indexes=0,6,1,7,2,8,3,9,4,10,5,11)", NULL, PLACE_SPREAD, 2, 0,
          false, 1},
         {"reservedSystemCPUs: \"0,6\" #", "full-pcpus-only: \"true\""}},
        /* One thread on each of two cores: a pod of two CPUs would get one whole core instead. */
        {{"package:1 core:5 pu:2", NULL, PLACE_CORES, 2, 0, false, 1},
         {"reservedSystemCPUs: \"0-1\" #", "cpu: \"4\"", "{name: OMP_NUM_THREADS, value: \"2\"}",
          "full-pcpus-only: \"true\""}},
        /* 2-4 and 5-7 share core 2: a pod of three CPUs would be rejected. */
        {{"package:1 core:4 pu:2", NULL, PLACE_PARTITION, 2, 0, false, 1},
         {"reservedSystemCPUs: \"0-1\" #", "cpu: \"3\"", "!full-pcpus-only"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_says(&cases[i].machine, EMIT_K8S, words, cases[i].parts);
}

/* The halves of six CPUs, 0-2 and 3-5, do not overlap; no memory is bound. */
TEST(emit_batch_file_gives_no_cpu_to_two_workers)
{
    static const char *const parts[] = {
        "start \"worker 0\" wsl.exe --exec env OMP_NUM_THREADS=3 MKL_NUM_THREADS=3 "
        "OPENBLAS_NUM_THREADS=3 taskset -c 0-2 ./your_command\r\n",
        "start \"worker 1\" wsl.exe --exec env OMP_NUM_THREADS=3 MKL_NUM_THREADS=3 "
        "OPENBLAS_NUM_THREADS=3 taskset -c 3-5 ./your_command\r\n",
        "!numactl", NULL};
    assert_says(&one_node, EMIT_WSL_BAT, NULL, parts);
}

/* For any command, no line has a character that ends a word in a batch file. */
TEST(emit_batch_file_holds_no_word_of_a_hostile_command)
{
    static const char *const words[] = {"./w", "%PATH%", "a\" & del *", "^!", "\r\nexit", NULL};
    FREED char *text = emit_for(&two_nodes, EMIT_WSL_BAT, words, NULL);
    assert_non_null(text);
    unsigned lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        assert_int_equal(line[strcspn(line, "%^&<!'\\")], '\0');
        assert_int_equal(line[strlen(line) - 1], '\r');
        assert_true(strspn(line, "\r") == 0 && strchr(line, '\r') == line + strlen(line) - 1);
    }
    assert_int_equal(lines, 14);
}

TEST(emit_numbers_gpus_where_the_command_asks)
{
    static const char *const words[] = {"./w", "cuda:{gpu}", NULL};
    static const char *const sh[] = {"export CUDA_DEVICE_ORDER=PCI_BUS_ID OMP_NUM_THREADS=4 "
                                     "MKL_NUM_THREADS=4 OPENBLAS_NUM_THREADS=4\n",
                                     "./w cuda:1\n", "!CUDA_VISIBLE_DEVICES", NULL};
    static const char *const docker[] = {"--gpus all", "--env CUDA_DEVICE_ORDER=PCI_BUS_ID", NULL};
    static const char *const slurm[] = {"--gpu-bind=none", "!gpus-per-task", NULL};
    assert_says(&two_nodes, EMIT_SH, words, sh);
    assert_says(&two_nodes, EMIT_DOCKER, words, docker);
    assert_says(&two_nodes, EMIT_SLURM, words, slurm);
}

/* More workers than GPUs, so a launcher cannot give each worker its own GPU. */
TEST(emit_shares_gpus)
{
    static const struct machine shared = {
        "package:2 numa:1 core:4 pu:1", "01:00.0@0", PLACE_PARTITION, 2, 0, false};
    static const char *const each[] = {"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0",
                                       "!gpus-per-task", "!export CUDA_VISIBLE_DEVICES", NULL};
    assert_says(&shared, EMIT_SLURM, NULL, each);
    assert_says(&shared, EMIT_TORCHRUN, NULL, each);
}

TEST(emit_masks_beyond_64_cpus)
{
    static const struct machine large = {
        "package:1 core:144 pu:1", NULL, PLACE_PARTITION, 2, 0, false};
    static const char *const parts[] = {"--cpu-bind=mask_cpu:0xffffffffffffffffff,"
                                        "0xffffffffffffffffff000000000000000000",
                                        NULL};
    assert_says(&large, EMIT_SLURM, NULL, parts);
}

TEST(emit_binds_nothing_where_the_plan_does_not)
{
    static const struct machine sized = {"package:1 core:6 pu:1", NULL, PLACE_SIZED, 2, 1, false};
    static const char *const sh[] = {"exec setsid -- ./your_command\n", "!may",
                                     "exec setsid -- ./your_background_load\n", NULL};
    static const char *const docker[] = {"!cpuset", "!--gpus", NULL};
    assert_says(&sized, EMIT_SH, NULL, sh);
    assert_says(&sized, EMIT_DOCKER, NULL, docker);
}

/* A daemon starts workers without our mask, so leaving out the list would widen it. */
TEST(emit_says_our_own_mask)
{
    static const struct machine none = {
        "package:1 core:8 pu:1", NULL, PLACE_NONE, 2, 0, false, 0, 3};
    static const struct machine one = {
        "package:1 core:8 pu:1", NULL, PLACE_PARTITION, 1, 0, false, 0, 3};
    static const struct machine whole = {
        "package:1 core:8 pu:1", NULL, PLACE_PARTITION, 1, 0, false, 0, 0};
    static const struct {
        enum emit_format format;
        const char *list;
    } cases[] = {
        {EMIT_COMMANDS, "taskset -c 3-7 "},  {EMIT_SH, "taskset -c 3-7 "},
        {EMIT_NUMACTL, "bound \"3-7\" "},    {EMIT_SYSTEMD, "-p CPUAffinity=3-7 "},
        {EMIT_DOCKER, "--cpuset-cpus 3-7 "}, {EMIT_SLURM, "--cpu-bind=mask_cpu:0xf8"},
        {EMIT_TORCHRUN, "may 3-7\n"},        {EMIT_MPIRUN, "may 3-7\n"},
        {EMIT_WSL_BAT, "taskset -c 3-7 "},   {EMIT_ENV, "{3:5}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const says[] = {cases[i].list, NULL};
        char absent[64] = "!";
        const char *const leaves_out[] = {strcat(absent, cases[i].list), NULL};
        assert_says(&none, cases[i].format, NULL, says);
        assert_says(&one, cases[i].format, NULL, says);
        if (cases[i].format != EMIT_ENV)
            assert_says(&whole, cases[i].format, NULL, leaves_out);
    }
}

/* Binding each thread to a CPU would differ from the placement none. */
TEST(emit_env_lets_threads_of_unpinned_workers_move)
{
    static const struct machine none = {
        "package:1 core:8 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)",
        NULL,
        PLACE_NONE,
        2,
        0,
        false,
        1,
        0};
    static const char *const within[] = {"OMP_PLACES=\"{1:7,9:7}\"", "!bind()", NULL};
    static const char *const nothing[] = {"!OMP_PLACES=", "!OMP_PROC_BIND=", NULL};
    assert_says(&none, EMIT_ENV, NULL, within);
    static const struct machine all = {"package:1 core:8 pu:1", NULL, PLACE_NONE, 2, 0, false};
    assert_says(&all, EMIT_ENV, NULL, nothing);
}

/* Each port several times, and errors between. */
static int next_port(void)
{
    static int n;
    n++;
    return n % 3 ? 4000 + n / 4 : -EMFILE;
}

/* Job a has a worker that sees all GPUs, job b two that see their own; each counts its own. */
TEST(emit_writes_unlike_jobs)
{
    static const char *const a[] = {"a", "{worker}/{workers}", "--gpu={gpu}", "{port}", NULL};
    static const char *const b[] = {"b", "{worker}/{workers}", "{port}", NULL};
    static const struct emit_own each[] = {{a, 0, 1}, {b, 0, 2}, {b, 1, 2}};
    AUTO(topo) topo = fixture_topo("package:1 core:6 pu:1", "01:00.0@0,02:00.0@0,03:00.0@0");
    AUTO(plan) plan = {0};
    struct err err = {0};
    const struct plan_request request = {.placement = PLACE_PARTITION, .workers = 3};
    assert_int_equal(plan_make(&topo, &request, &plan, &err), 0);
    struct emit_job job = {.topo = &topo, .plan = &plan, .each = each, .free_port = next_port};
    FREED char *text = emit_text(EMIT_COMMANDS, &job, &err);
    assert_has(text, "PCI_BUS_ID OMP_NUM_THREADS=2 taskset -c 0-1 a 0/1 '--gpu=0' 4000 &");
    assert_has(text, "CUDA_VISIBLE_DEVICES=1 OMP_NUM_THREADS=2 taskset -c 2-3 b 0/2 4001 &");
    assert_has(text, "CUDA_VISIBLE_DEVICES=2 OMP_NUM_THREADS=2 taskset -c 4-5 b 1/2 4002 &");
    job.renumbered = true;
    assert_null(emit_text(EMIT_SH, &job, &err));
    assert_has(err.msg, "CUDA_VISIBLE_DEVICES hides some here");
    job = (struct emit_job){.topo = &topo, .plan = &plan, .each = each};
    assert_null(emit_text(EMIT_SH, &job, &err));
    assert_has(err.msg, "asks for {port}, and worker 0 has none");
}

TEST(emit_refuses)
{
    static const struct machine behind = {
        "package:1 core:6 pu:1", NULL, PLACE_PARTITION, 2, 1, false};
    static const struct machine sized = {"package:1 core:6 pu:1", NULL, PLACE_SIZED, 2, 0, false};
    static const struct machine masked = {
        "package:1 core:6 pu:1", NULL, PLACE_SIZED, 2, 0, false, 0, 2};
    static const struct machine hidden = {
        "package:2 numa:1 core:4 pu:1", "01:00.0@0", PLACE_PARTITION, 2, 0, true};
    static const struct machine spare = {
        "package:1 core:6 pu:1", NULL, PLACE_PARTITION, 2, 0, false, 1};
    static const struct machine smt = {"package:1 core:4 pu:2", NULL, PLACE_CORES, 2, 0, false, 0};
    static const struct machine same = {"package:1 core:6 pu:1", NULL, PLACE_SAME, 2, 0, false, 1};
    static char long_word[8100];
    memset(long_word, 'x', sizeof(long_word) - 1);
    static const struct {
        const struct machine *machine;
        enum emit_format format;
        const char *words[3];
        const char *says;
    } cases[] = {
        {&one_node, EMIT_SH, {"-x"}, "'-x' is no command"},
        {&one_node, EMIT_SH, {""}, "'' is no command"},
        {&one_node, EMIT_SH, {"w", "{rank}"}, "unknown placeholder {rank}"},
        {&one_node, EMIT_SH, {"w", "{gpu}"}, "asks for {gpu}, and worker 0 has none"},
        {&hidden, EMIT_SH, {"w", "{gpu}"}, "CUDA_VISIBLE_DEVICES hides some here"},
        {&behind, EMIT_SLURM, {"w"}, "slurm starts equal tasks: leave --background-workers out"},
        {&behind, EMIT_K8S, {"w"}, "k8s starts equal tasks"},
        {&one_node, EMIT_K8S, {"w", "{cpus}"}, "{cpus} is not known: k8s chooses the CPUs itself"},
        {&spare, EMIT_K8S, {"w", "\xff"}, "word 2 of the command is no UTF-8"},
        {&one_node, EMIT_K8S, {"w"}, "leaves no whole core to the system"},
        {&smt, EMIT_K8S, {"w"}, "add --reserve 1"}, /* second threads of cores do not count */
        {&same, EMIT_K8S, {"w"}, "placement same gives several workers the same CPUs"},
        {&two_nodes, EMIT_K8S, {"w", "{gpu}"}, "write 0 in place of {gpu}"},
        {&sized, EMIT_K8S, {"w"}, "placement sized binds no CPUs"},
        {&masked, EMIT_K8S, {"w"}, "placement sized binds no CPUs"},
        {&one_node, EMIT_WSL_BAT, {"w", long_word}, "too long for a batch file"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        char *text = emit_for(cases[i].machine, cases[i].format, cases[i].words, &err);
        if (text)
            fail_msg("%s: not refused: %s", emit_names[cases[i].format], cases[i].says);
        assert_int_equal(err.code, -EINVAL);
        assert_has(err.msg, cases[i].says);
    }
}
