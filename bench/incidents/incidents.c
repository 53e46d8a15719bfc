#include "bench/incidents/incidents.h"

static const struct incident thread_per_cpu = {
    .scenario = {.name = "thread_per_cpu",
                 .summary = "one process is fast; two at once take several times as long each, "
                            "while the GPUs idle",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline", .placements = "none", .workers = 2},
                         {.foreground = NULL}}},
    .reported = {.title = "GPU processes slowed down by their CPU work, and taskset as the cure "
                          "(in Japanese)",
                 .url = "https://blog.qualiteg.com/gpu-system-cpu-bottleneck-taskset",
                 .machine = "a server with several GPUs, one process each",
                 .figures = "several times as long; recovered by taskset, eight CPUs a process"},
    .differs = "preprocessing of contend, and a simulated GPU",
    .cure = "threads = CPUs / processes",
    .variants = {"sick=placement:none", "cured=placement:sized", NULL},
    .metric = "throughput",
    .witness = "runqueue_wait_per_step",
    .max_time_s = 30,
    .doctor = "more_threads_than_cpus",
};

static const struct incident cpuset_team = {
    .scenario = {.name = "cpuset_team",
                 .summary = "one token every few seconds in a container with a cpuset, all of its "
                            "CPUs busy",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "barrier=spin;us=64",
                                        .placements = "none", .workers = 1)},
    .reported = {.title = "Default n_threads ignores cgroup CPU quota and cpuset: ~45x throughput "
                          "collapse in CPU-limited containers",
                 .url = "https://github.com/ollama/ollama/issues/17916",
                 .date = "2026-08-21",
                 .machine = "8 vCPU EPYC 7543P, cpuset 0-3, Ollama 0.32.15, llama3.2:3b q4; 8 "
                            "threads, then 4",
                 .what = "tokens/s",
                 .before = 0.27,
                 .after = 12.07},
    .differs = "multiplications in place of a model; the CPUs of this machine are the cpuset",
    .cure = "as many threads as the cpuset has CPUs",
    .variants = {"sick=threads:{2cpus}", "cured=threads:{cpus}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};

static const struct incident quota_team = {
    .scenario = {.name = "quota_team",
                 .summary = "a container with --cpus=2 on a large host is slower than one "
                            "that is given two threads",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "barrier=spin;us=16",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "serve: llama-server threads ignore container CPU quota",
            .url = "https://github.com/llmmanorg/llmman/issues/322",
            .date = "2026-08-29",
            .machine = "Ryzen 7 7840U, 16 CPUs, Docker --cpus=2, llama-server b10621: "
                       "16 threads, then 2",
            .figures = "4.1x slower with a quota of 2 CPUs than with as many threads "
                       "as the quota; #485, another machine of 20 CPUs: 2 -> 63 "
                       "tokens/s",
        },
    .differs = "multiplications in place of a model; the quota is a quarter "
               "of the CPUs",
    .cure = "as many threads as the quota has CPUs",
    .variants = {"sick=threads:{cpus}", "sick=cpu-max:{quarter}", "cured=threads:{quarter+}",
                 "cured=cpu-max:{quarter}", NULL},
    .metric = "region_time",
    .doctor = "team_over_quota|throttled",
    .time_s = 0.6,
    .max_time_s = 25,
};

static const struct incident quota_serving = {
    .scenario = {.name = "quota_serving",
                 .summary = "an inference server's latency grows fivefold with a new "
                            "version, in a pod with a CPU quota",
                 .parts = INCIDENT_PART(.foreground = "pipeline", .params = "rows=128",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "~2x decode throughput regression for structured outputs since "
                     "#45424",
            .url = "https://github.com/vllm-project/vllm/issues/49013",
            .date = "2026-07-25",
            .machine = "KServe pod with a CPU quota, B300, vLLM 0.25.1, gemma-4-31B, "
                       "guided output; the version before as the cure, as "
                       "OMP_NUM_THREADS is",
            .what = "s, p50 of a request",
            .before = 7.30,
            .after = 1.42,
            .less_is_better = true,
        },
    .differs = "preprocessing and a simulated GPU in place of a model; the "
               "quota is a quarter of the CPUs",
    .cure = "OMP_NUM_THREADS = CPUs of the quota",
    .variants = {"sick=threads:{cpus}", "sick=cpu-max:{quarter}", "cured=threads:{quarter+}",
                 "cured=cpu-max:{quarter}", NULL},
    .metric = "throughput",
    .witness = "throttled_per_step",
    .doctor = "team_over_quota|throttled",
    .time_s = 0.5,
};

static const struct incident spin_barrier = {
    .scenario = {.name = "spin_barrier",
                 .summary = "more threads than cores, and a token takes eight seconds at "
                            "full power",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "us=64",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "ggml: Implement yield barrier using futex for improved thread "
                     "scheduling efficiency (a comment)",
            .url = "https://github.com/ggml-org/llama.cpp/pull/13079",
            .date = "2026-08-02",
            .machine = "Raspberry Pi 5, 4 cores, llama.cpp d73c1d6, qwen0.5b Q4_K_M, "
                       "8 threads: own spin barrier, then that of libgomp",
            .what = "tokens/s",
            .before = 0.12,
            .after = 10.13,
        },
    .differs = "multiplications in place of a model; no energy is measured",
    .cure = "a barrier that sleeps, as that of libgomp",
    .variants = {"sick=param:barrier=spin", "sick=threads:{2cpus}", "cured=param:barrier=omp",
                 "cured=threads:{2cpus}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};

static const struct incident spin_two_vcpus = {
    .scenario = {.name = "spin_two_vcpus",
                 .summary = "tests that take a minute elsewhere run into their limit of 15 "
                            "minutes on small CI machines",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "us=64",
                                        .placements = "none", .workers = 8)},
    .reported =
        {
            .title = "ggml-cpu : yield in ggml_barrier after a short spin",
            .url = "https://github.com/ggml-org/llama.cpp/pull/29258",
            .date = "2026-09-22",
            .machine = "Windows runners of 2 vCPUs: 8 pools of 2 threads each",
            .figures = "beyond 900 s on 2 vCPUs, 55 s on other machines of 4",
        },
    .differs = "eight processes on Linux in place of eight contexts on "
               "Windows",
    .cure = "sched_yield after a short spin",
    .variants = {"sick=param:barrier=spin", "sick=threads:{cpus}", "cured=param:barrier=yield",
                 "cured=threads:{cpus}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};

static const struct incident weight_load = {
    .scenario = {.name = "weight_load",
                 .summary = "engines of a node load weights for half an hour, or time out "
                            "before they are ready",
                 .parts = INCIDENT_PART(.foreground = "grain", .params = "us=64",
                                        .placements = "none", .workers = 4)},
    .reported =
        {
            .title = "Data-parallel startup ignores DP in startup_omp_num_threads, "
                     "causing CPU thread oversubscription and 15x slower weight "
                     "loading",
            .url = "https://github.com/vllm-project/vllm/issues/52330",
            .date = "2026-08-14",
            .machine = "Xeon Platinum 8570, 224 CPUs, vLLM 0.26.1rc1: 4 engines of "
                       "224 threads, then of 56",
            .what = "s, weight load",
            .before = 1822.4,
            .after = 118.3,
            .less_is_better = true,
        },
    .differs = "multiplications in place of weights",
    .cure = "OMP_NUM_THREADS = CPUs / engines",
    .variants = {"sick=threads:{cpus}", "cured=threads:{quarter+}", NULL},
    .metric = "region_time",
    .doctor = "more_threads_than_cpus",
};

static const struct incident unbound_ranks = {
    .scenario = {.name = "unbound_ranks",
                 .summary = "decoding on a server with many NUMA domains is five times "
                            "slower than on one with two",
                 .parts = INCIDENT_PART(.foreground = "train", .params = "rows=512",
                                        .placements = "none", .workers = 2)},
    .reported =
        {
            .title = "fix(trtllm): add numa_cpu_bind to bind worker ranks per NUMA "
                     "domain",
            .url = "https://github.com/NVIDIA/srt-slurm/pull/332",
            .date = "2026-08-22",
            .machine = "B300, EPYC 9575F, 8 NUMA domains, 8 ranks of TensorRT-LLM: "
                       "unbound, then --cpu-bind=rank_ldom",
            .what = "ms, p50 of decoding",
            .before = 70.4,
            .after = 14.1,
            .less_is_better = true,
        },
    .differs = "a stand-in for a model; the report does not show whether "
               "memory or teams of threads are the cause",
    .cure = "each rank bound to its NUMA node",
    .variants = {"sick=placement:none", "cured=placement:numa", NULL},
    .metric = "step_time",
    .doctor = "more_threads_than_cpus|far_pages|run_queue",
    .least_nodes = 2,
};

static const struct incident shared_core = {
    .scenario = {.name = "shared_core",
                 .summary = "two processes on one core are slower than a half each",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "cache_thrash",
                          .params = "victim=l2;aggressor=stream;aggressors=1",
                          .placements = "none",
                          .workers = 1},
                         {.foreground = NULL}}},
    .reported =
        {
            .title = "GPU processes slowed down by their CPU work, and taskset as "
                     "the cure (in Japanese)",
            .url = "https://blog.qualiteg.com/gpu-system-cpu-bottleneck-taskset",
            .machine = "several processes on the first core of a server",
            .figures = "caches that each process wipes for the other at a switch; no "
                       "figures",
        },
    .differs = "two threads in place of two processes, so the TLB stays; CPU "
               "time alone is compared, so that the half that each gets is "
               "not in the ratio",
    .cure = "a core for each",
    .variants = {"sick=param:where=turns", "cured=param:where=other", NULL},
    .metric = "access_time",
    .doctor = "masks_overlap|narrow_mask|idle_beside_queue|leader_alone|run_queue",
    .time_s = 0.3,
    .max_time_s = 30,
};

static const struct incident loader_mask = {
    .scenario = {.name = "loader_mask",
                 .summary = "sixteen data loaders are as slow as one, and all but one CPU "
                            "idle",
                 .parts = INCIDENT_PART(.foreground = "loader", .params = "mode=process;gpu_ms=1",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Unexpected modification to CPU affinity of Dataloader workers",
            .url = "https://github.com/pytorch/pytorch/issues/101850",
            .date = "2023-10-19",
            .machine = "64 CPUs, 8 x V100, Python 3.11.3 of conda-forge; #99625 names "
                       "the library, llvm-openmp, as the cause",
            .figures = "\"a 10 times speed boost from having 16 instead of 1 worker "
                       "process\", a remark of one person",
        },
    .differs = "loaders in C narrow their own mask after the fork, as that "
               "library did",
    .cure = "the mask of the parent for each loader",
    .variants = {"sick=param:mask=first-core", "sick=param:loaders=8", "cured=param:loaders=8",
                 NULL},
    .metric = "batches",
    .doctor = "narrowed_children|inherited_mask|masks_overlap|narrow_mask",
    .time_s = 0.3,
    .max_time_s = 30,
};

static const struct incident interpreter_lock = {
    .scenario = {.name = "interpreter_lock",
                 .summary = "the GPU idles for 50 ms in a step while a thread frees memory",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "interpreter_lock", .placements = "none", .workers = 1},
                         {.foreground = NULL}}},
    .reported =
        {
            .title = "Significant perf reduction on Python GIL contention with "
                     "dataloader pinning thread",
            .url = "https://github.com/pytorch/pytorch/issues/77139",
            .date = "2022-05-10",
            .machine = "8 x A100, PyTorch 1.12: munmap in the destructor of a tensor, "
                       "with the interpreter lock held",
            .figures = "gaps of 50 ms and more in the GPU stream, in a step of 335 ms "
                       "without them; \"a faint signal\" of the fix",
        },
    .differs = "the same system call with and without the lock, and no GPU",
    .cure = "release the lock around munmap",
    .variants = {"sick=param:unmap=held", "cured=param:unmap=released", NULL},
    .metric = "launch_gap_p99",
    .witness = "launches",
    .doctor = NULL,
    .time_s = 0.6,
};

static const struct incident thread_loaders = {
    .scenario = {.name = "thread_loaders",
                 .summary = "data loaders as threads are slower than as processes",
                 .parts = INCIDENT_PART(.foreground = "loader", .params = "loaders=2;gpu_ms=10",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Thread based dataloading workers",
            .url = "https://github.com/pytorch/pytorch/pull/161044",
            .date = "2026-04-23",
            .machine = "PyTorch, ImageNet from disk; level from memory, and without "
                       "the interpreter lock (3.14t)",
            .figures = "about 30% slower as threads than as processes",
        },
    .differs = "work in Python alone, which is the worst case; data in memory",
    .cure = "a process a loader",
    .variants = {"sick=param:mode=python-thread", "cured=param:mode=python-process", NULL},
    .metric = "batches",
    .doctor = "interpreter_lock",
    .time_s = 0.4,
    .max_time_s = 30,
};

static const struct incident convoy = {
    .scenario = {.name = "convoy",
                 .summary =
                     "eight threads that read and unpack data use one CPU, as one thread does",
                 .parts =
                     INCIDENT_PART(.foreground = "mutex", .params = "hold=200;outside=10;threads=8",
                                   .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Multi-threaded reads use only 100% CPU?",
            .url = "https://github.com/h5py/h5py/issues/591",
            .date = "2015-06-28",
            .machine = "h5py, compressed files: HDF5 has one lock for all calls, held while it "
                       "unpacks",
            .figures = "100% of one CPU with any number of threads; processes as the cure",
        },
    .differs =
        "multiplications in place of unpacking; a lock for each thread in place of processes",
    .cure = "a lock for each thread, or processes",
    .variants = {"sick=param:lock=pthread", "cured=param:lock=sharded", NULL},
    .metric = "lock_rate",
    .doctor = "convoy",
    .time_s = 0.3,
};

static const struct incident cpu_not_disk = {
    .scenario = {.name = "cpu_not_disk",
                 .summary = "accelerators starve as more are added, and storage looks "
                            "guilty at a third of its rate",
                 .parts = INCIDENT_PART(.foreground = "loader",
                                        .params = "mode=process;source=file;gpu_ms=0.5",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Retinanet is cpu bound",
            .url = "https://github.com/mlcommons/storage/issues/490",
            .date = "2026-06-22",
            .machine = "24 cores, 48 CPUs, PCIe 5 storage: 2 to 32 simulated "
                       "accelerators; the least CPU idle 90% -> 0%",
            .what = "%, accelerator use",
            .before = 85.5,
            .after = 97.7,
        },
    .differs = "the cure is work that leaves the CPU, where the report has "
               "fewer accelerators",
    .cure = "preprocessing on the device",
    .variants = {"sick=param:loaders={cpus}", "cured=param:loaders={cpus}", "cured=param:prep=gpu",
                 "tmpfs=param:loaders={cpus}", "tmpfs=param:source=tmpfs", NULL},
    .metric = "batches",
    .witness = "read_rate",
    .doctor = "slow_loaders",
    .time_s = 0.3,
    .max_time_s = 30,
};

static const struct incident spin_for_gpu = {
    .scenario = {.name = "spin_for_gpu",
                 .summary = "a thread beside the training loop runs a quarter slower while "
                            "the loop only waits for the GPU",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline",
                          .params = "rows=256;gpu_work=200;sim_work_us=25",
                          .placements = "none",
                          .workers = 4},
                         {.foreground = NULL}},
                 .background = "prep",
                 .background_workers = 1},
    .reported =
        {
            .title = "[detailed][cpu eval] Benchmark for CPU Utilization in CPU-GPU "
                     "Event Sync",
            .url = "https://github.com/meta-pytorch/torchrec/pull/4353",
            .machine = "not seen; a spinning event, then one with blocking=True",
            .what = "ms, the side thread",
            .before = 680,
            .after = 532,
            .less_is_better = true,
        },
    .differs = "four loops, a simulated GPU where there is none, and preprocessing on all CPUs as "
               "the side "
               "work",
    .cure = "an event that blocks",
    .variants = {"sick=threads:1", "sick=param:wait=spin", "cured=threads:1",
                 "cured=param:wait=block", NULL},
    .metric = "background_rate",
    .witness = "oncpu_per_step",
    .doctor = "spin_wait|more_threads_than_cpus",
    .max_time_s = 25,
    .on_gpu = true,
};

static const struct incident inversion_nice = {
    .scenario = {.name = "inversion_nice",
                 .summary = "threads wait seconds for a short lock, as its holder runs at a lower "
                            "priority than other programs",
                 .parts = INCIDENT_PART(.foreground = "priority_inversion",
                                        .params = "policy=nice;held=5ms;burn=100ms",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "Priority inversion?",
            .url = "https://github.com/bitcoin/bitcoin/issues/8010",
            .date = "2016-05-05",
            .machine = "dual-core Linux under moderate load of other processes: the thread that "
                       "handles messages lowers its priority and takes the locks of others",
            .figures = "waits of seconds every ten minutes, and of 30 s every few hours",
        },
    .differs = "nice 19 in place of a small step, threads of one process on one CPU",
    .cure = "one nice level for all who share the lock",
    .variants = {"sick=param:nice=19", "cured=param:nice=0", NULL},
    .metric = "high_wait",
    .doctor = NULL,
    .time_s = 0.6,
    .max_time_s = 25,
};

static const struct incident tokenizer_loop = {
    .scenario = {.name = "tokenizer_loop",
                 .summary = "all streams of a server stop for as long as it tokenises one prompt",
                 .parts = INCIDENT_PART(.foreground = "event_loop", .params = "connections=300",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "fix(gateway): avoid blocking the event loop during tokenization",
            .url = "https://github.com/awslabs/agentcore-rl-toolkit/pull/141",
            .date = "2026-09-13",
            .machine = "Qwen3-Coder tokenizer, eight prompts of 128k tokens at once: in the event "
                       "loop, then by threads; the largest of each",
            .what = "ms, longest wait of the loop",
            .before = 1210,
            .after = 26.1,
            .less_is_better = true,
        },
    .differs = "CPU time in place of a tokenizer, 20 ms a prompt; the p99 of 300 streams",
    .cure = "a thread that tokenises, on a CPU that the loop does not use",
    .variants = {"sick=param:tokenise=loop", "cured=param:tokenise=thread", NULL},
    .metric = "echo_p99",
    .witness = "prompts",
    .doctor = NULL,
    .time_s = 0.6,
};

static const struct incident rank_collects = {
    .scenario = {.name = "rank_collects",
                 .summary = "all ranks stop together, now and then, while one collects its garbage",
                 .parts = INCIDENT_PART(.foreground = "train", .params = "rows=512;heap=16M",
                                        .placements = "partition", .workers = 2)},
    .reported =
        {
            .title = "[scheduler] Keep stop-the-world GC pauses off the batch critical path",
            .url = "https://github.com/sgl-project/sglang/pull/28067",
            .date = "2026-06-12",
            .machine = "8 x B300, SGLang, TP 8, DeepSeek-V3.1: a heap of 74.8 million objects; the "
                       "cure freezes it after the warm-up and collects while idle",
            .figures = "stops of all ranks of 7 s after 1 h, of 46 s after 6.5 h; one collection "
                       "takes 41 s and frees nothing",
        },
    .differs = "a walk over linked objects every 16 steps, by each of two ranks; a simulated GPU",
    .cure = "a frozen heap, which no collection walks (gc.freeze)",
    .variants = {"sick=param:collect=own", "cured=param:collect=frozen", "same=param:collect=same",
                 NULL},
    .metric = "throughput",
    .witness = "wait_time",
    .doctor = NULL,
    .time_s = 0.5,
    .max_time_s = 30,
};

static const struct incident checkpoint_thread = {
    .scenario = {.name = "checkpoint_thread",
                 .summary =
                     "steps take twice as long while a checkpoint is saved in the background",
                 .parts = INCIDENT_PART(.foreground = "interpreter_lock", .params = "unmap=none",
                                        .placements = "none", .workers = 1)},
    .reported =
        {
            .title = "feat(ckpt): optimize model checkpointing in Volc and Ali",
            .url = "https://github.com/InternLM/InternEvo/pull/65",
            .date = "2024-02-29",
            .machine = "a model of 65B: checkpoints uploaded by a ThreadPoolExecutor, then by a "
                       "ProcessPoolExecutor",
            .what = "tokens/s of a GPU, while it uploads",
            .before = 70,
            .after = 145,
        },
    .differs = "launches in place of steps; a checkpoint is pickled, again and again, not uploaded",
    .cure = "a process that saves",
    .variants = {"sick=param:save=thread", "cured=param:save=process", NULL},
    .metric = "launches",
    .witness = "saves",
    .doctor = "interpreter_lock",
    .no_speed = true,
    .time_s = 0.6,
};

static const struct incident steal = {
    .scenario = {.name = "steal",
                 .summary = "a virtual machine answers after a minute, and its own "
                            "processes hardly run",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline", .placements = "none", .workers = 1},
                         {.foreground = NULL}}},
    .reported =
        {
            .title = "fix(fly): use dedicated CPUs for operator instances (89% "
                     "steal caused a 40-min outage)",
            .url = "https://github.com/markmhendrickson/neotoma/pull/2150",
            .date = "2026-08-10",
            .machine = "Fly.io, 2 shared vCPUs, then dedicated ones; steal 89.6%, "
                       "then 0%",
            .what = "s, one request",
            .before = 73.2,
            .after = 0.99,
            .less_is_better = true,
        },
    .differs = "only a hypervisor steals CPU time",
    .cure = "dedicated vCPUs",
    .variants = {"sick=placement:none", "cured=placement:none", NULL},
    .metric = "throughput",
    .doctor = "run_queue",
    .cannot =
        "only a hypervisor can steal CPU time: 'contend validate' and 'contend doctor' report it",
};

static const struct incident harmful_cure = {
    .scenario = {.name = "harmful_cure",
                 .summary = "a fixed small number of threads, taken from somebody else's fix, "
                            "makes a machine with more CPUs slower",
                 .parts =
                     (const struct scenario_part[]){
                         {.foreground = "pipeline", .placements = "none", .workers = 1},
                         {.foreground = NULL}}},
    .reported = {.title = "TP > 1: every rank keeps torch's default intra-op thread count, so a "
                          "multi-rank weight load busy-waits itself to a standstill on a "
                          "small-core host (19 min -> 61 s)",
                 .url = "https://github.com/FlashML-org/FreeToken/issues/371",
                 .date = "2026-09-05",
                 .machine = "2 x Xeon Gold 6526Y, 64 CPUs, 2 x RTX 6000 Ada, 2 ranks: 32 threads, "
                            "then 3, which gained 19x on 6 cores",
                 .what = "s, rank wall time",
                 .before = 0.104,
                 .after = 0.255,
                 .less_is_better = true},
    .differs = "one process that has all CPUs, and one thread in place of three",
    .cure = "none is needed: a team of all CPUs fits here",
    .variants = {"default=threads:{cpus}", "fewer=threads:1", NULL},
    .metric = "throughput",
    .doctor = "",
    .harms = true,
};

const struct incident *const incident_registry[] = {&thread_per_cpu,
                                                    &cpuset_team,
                                                    &quota_team,
                                                    &quota_serving,
                                                    &spin_barrier,
                                                    &spin_two_vcpus,
                                                    &weight_load,
                                                    &unbound_ranks,
                                                    &shared_core,
                                                    &loader_mask,
                                                    &interpreter_lock,
                                                    &thread_loaders,
                                                    &convoy,
                                                    &cpu_not_disk,
                                                    &spin_for_gpu,
                                                    &inversion_nice,
                                                    &tokenizer_loop,
                                                    &rank_collects,
                                                    &checkpoint_thread,
                                                    &steal,
                                                    &harmful_cure,
                                                    NULL};
