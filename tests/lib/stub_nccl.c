/*
 * In place of NCCL: loads a profiler plugin and drives it as NCCL does, by its command line.
 *
 *   stub_nccl PLUGIN VERSION STEP...     VERSION: of the interface, 1 to 6
 *
 *   init:ID:RANKS:RANK:NODES:NAME        a communicator, which the next steps are about
 *   joins:N                              N ranks of one communicator, from N threads at once, each
 *                                        with a GPU of its own
 *   coll:FUNC:TYPE:COUNT:ROOT:ALGO:PROTO:CHANNELS:TIMES:CAPTURED
 *   p2p:FUNC:TYPE:COUNT:PEER:CHANNELS:TIMES:CAPTURED
 *   ce:FUNC:TYPE:COUNT:ROOT:TIMES        by copy engines, from 6 on
 *   call:FUNC:TYPE:COUNT:TIMES           of the program, without work; from 5 on
 *   threads:N:TIMES                      AllReduce of one float32, RING SIMPLE, from N threads at
 * once
 *   graph:A,B,...:...                    what NCCL writes to NCCL_GRAPH_DUMP_FILE: rings of GPUs
 *   gpu:N     the thread's GPU, by the driver that CONTEND_FAKE_DRIVER names
 *   kernel:US                            how long kernels run from here on
 *   capture:0|1                          the stream is captured from here on
 *   group:N:TIMES                        N AllReduces of one float32 in one kernel
 *   wait:US                              the process does nothing so long
 *   busy:N                               N threads compute until the process ends
 *   train:TIMES:WORK_US:SLEEP_US:EVERY:FILE:RANKS:SPINS
 *                                        steps: so much CPU time, at each EVERYth a sleep, one
 *                                        AllReduce; then the wait for RANKS at FILE, by spinning
 *                                        or asleep
 *   odd       events of unknown types, and NULL wherever it can be
 *   use:N (an earlier communicator)   finalize   reload (dlclose, dlopen)   fork   kill
 *   behind    the next steps are done at exit, by a handler that was there before the plugin
 *
 * Events are bytes at the offsets that NVIDIA's headers have (profiler_v1.h to _v6.h of NCCL 2.30,
 * by offsetof), so that a mistake in the plugin's own declarations shows. Exit 1: the plugin fails.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COLL = 1 << 1, P2P = 1 << 2, GROUP_CALL = 1 << 8, COLL_CALL = 1 << 9, P2P_CALL = 1 << 10 };
enum {
    GROUP = 1 << 0,
    LAUNCH = 1 << 11,
    COPY_COLL = 1 << 12,
    EVENT = 160,
    COMMUNICATORS = 16,
    WORDS = 12
};

/* Offsets of fields; -1 = the event has no such field. */
static const struct layout {
    int coll_hash, coll_func, coll_count, coll_root, coll_type, channels, algo, proto;
    int p2p_hash, p2p_func, p2p_type, p2p_count, p2p_peer, p2p_channels;
} layouts[] = {
    [1] = {32, 48, 72, 80, 84, 104, 106, 107, 32, 40, 56, 64, 72, -1},
    [2] = {32, 48, 72, 80, 88, 104, 112, 120, 32, 40, 56, 64, 72, -1},
    [3] = {32, 48, 72, 80, 88, 96, 104, 112, 32, 40, 56, 64, 72, -1},
    [4] = {-1, 32, 56, 64, 72, 80, 88, 96, -1, 24, 40, 48, 56, 60},
    [5] = {-1, 32, 56, 64, 72, 80, 88, 96, -1, 24, 40, 48, 56, 60},
    [6] = {-1, 32, 56, 64, 72, 80, 88, 96, -1, 24, 40, 48, 56, 60},
};

/* Interface 1: numbers of nccl_common.h and nccl.h. */
static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const types[] = {"ncclInt8",    "Unknown",     "ncclInt32",   "ncclUint32",
                                    "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                    "ncclFloat64", "ncclBfloat16"};
static const char *const algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

struct table {
    const char *name;
    int (*init)();
    int (*start)(void *context, void **handle, void *event);
    int (*stop)(void *handle);
    int (*record)(void *handle, int state, void *args);
    int (*finalize)(void *context);
};

static struct {
    void *context;
    uint64_t id;
    int rank;
} communicators[COMMUNICATORS];

static const char *plugin;
static int version, ncommunicators, current, mask, kernel_us;
static void *library, *driver;
static const struct table *table;

static void fail(const char *what)
{
    (void)fprintf(stderr, "stub_nccl: %s\n", what);
    exit(1);
}

static void check(int rc)
{
    if (rc)
        fail("the plugin returns an error");
}

/* Missing strings are "". */
static void split(char *step, char *word[static WORDS])
{
    static char none[] = "";
    for (int n = 0; n < WORDS; n++)
        word[n] = step ? strsep(&step, ":") : none;
}

static void load(void)
{
    char name[32];
    library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(dlerror());
    (void)snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
    table = dlsym(library, name);
    if (!table)
        fail("no such interface");
}

/* ---- events ---- */

static void put(unsigned char *event, int at, const void *value, size_t size)
{
    if (at >= 0)
        memcpy(event + at, value, size);
}

/* Text, or its number in interface 1. */
static void put_name(unsigned char *event, int at, const char *const *names, size_t n,
                     const char *text)
{
    if (version > 1) {
        put(event, at, &text, sizeof(const char *));
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], text) == 0) {
            unsigned char number = (unsigned char)i;
            put(event, at, &number, 1);
            return;
        }
    fail("interface 1 has no such name");
}

#define PUT_NAME(event, at, names, text)                                                           \
    put_name(event, at, names, sizeof(names) / sizeof(names[0]), text)

static void begin(unsigned char event[static EVENT], uint64_t type, void *parent)
{
    memset(event, 0xff, EVENT); /* fields that are not set may hold anything */
    if (version >= 5)
        put(event, 0, &type, sizeof(type));
    else
        event[0] = (unsigned char)type;
    put(event, 8, &parent, sizeof(void *));
    put(event, 16, &communicators[current].rank, sizeof(int));
}

static void *start(unsigned char *event)
{
    void *handle = &handle;
    check(table->start(communicators[current].context, &handle, event));
    return handle;
}

static void stop(void *handle)
{
    if (handle)
        check(table->stop(handle));
}

/* The program's call, which NCCL reports wherever the program requests work. */
static void *call(uint64_t type, const char *func, const char *datatype, size_t count, int captured)
{
    unsigned char event[EVENT];
    unsigned char is_captured = (unsigned char)captured;
    if (version < 5 || !(mask & (COLL | P2P)))
        return NULL;
    begin(event, GROUP_CALL, NULL);
    void *group = start(event);
    if (group)
        check(table->record(group, 23, NULL));
    begin(event, type, group);
    put(event, 24, &func, sizeof(const char *));
    put(event, 32, &count, sizeof(count));
    put(event, 40, &datatype, sizeof(const char *));
    put(event, type == COLL_CALL ? 64 : 56, &is_captured, 1);
    void *handle = start(event);
    stop(handle);
    stop(group);
    return handle;
}

/* The first call loads the driver. */
static void drive(const char *name, int value)
{
    const char *path = getenv("CONTEND_FAKE_DRIVER");
    if (!driver && (!path || !(driver = dlopen(path, RTLD_NOW | RTLD_LOCAL))))
        fail("no fake of the driver");
    void (*tell)(int) = (void (*)(int))(uintptr_t)dlsym(driver, name);
    if (!tell)
        fail("another driver");
    tell(value);
}

/* As in NCCL: from 2.28 on the launch of the kernel comes first, then a group around its work. */
static void *launch(void)
{
    unsigned char event[EVENT];
    void *stream = &stream;
    if (version >= 5 && mask & LAUNCH) {
        begin(event, LAUNCH, NULL);
        put(event, 24, &stream, sizeof(stream));
        void *handle = start(event);
        if (kernel_us)
            drive("fake_gpu_run", kernel_us);
        stop(handle);
    }
    begin(event, GROUP, NULL);
    return start(event);
}

/* As in NCCL before 2.28: work of a group without a handle is not reported. */
static int is_told(const void *group)
{
    return version >= 5 || group;
}

static void do_coll(char **word)
{
    const struct layout *at = &layouts[version];
    size_t count = strtoull(word[3], NULL, 10);
    int root = atoi(word[4]), times = atoi(word[8]), captured = atoi(word[9]);
    unsigned char event[EVENT], channels = (unsigned char)atoi(word[7]);
    for (int i = 0; i < times && mask & COLL; i++) {
        void *parent = call(COLL_CALL, word[1], word[2], count, captured), *group = launch();
        if (!is_told(group))
            continue;
        begin(event, COLL, parent);
        put(event, at->coll_hash, &communicators[current].id, 8);
        PUT_NAME(event, at->coll_func, functions, word[1]);
        PUT_NAME(event, at->coll_type, types, word[2]);
        PUT_NAME(event, at->algo, algorithms, word[5]);
        PUT_NAME(event, at->proto, protocols, word[6]);
        put(event, at->coll_count, &count, sizeof(count));
        put(event, at->coll_root, &root, sizeof(root));
        put(event, at->channels, &channels, 1);
        stop(start(event));
        stop(group);
    }
}

static void do_p2p(char **word)
{
    const struct layout *at = &layouts[version];
    size_t count = strtoull(word[3], NULL, 10);
    int peer = atoi(word[4]), times = atoi(word[6]), captured = atoi(word[7]);
    unsigned char event[EVENT], channels = (unsigned char)atoi(word[5]);
    for (int i = 0; i < times && mask & P2P; i++) {
        void *parent = call(P2P_CALL, word[1], word[2], count, captured);
        void *group = version < 5 ? launch() : NULL;
        if (!is_told(group))
            continue;
        begin(event, P2P, parent);
        put(event, at->p2p_hash, &communicators[current].id, 8);
        PUT_NAME(event, at->p2p_func, functions, word[1]);
        PUT_NAME(event, at->p2p_type, types, word[2]);
        put(event, at->p2p_count, &count, sizeof(count));
        put(event, at->p2p_peer, &peer, sizeof(peer));
        put(event, at->p2p_channels, &channels, 1);
        stop(start(event));
        stop(group);
    }
}

static void do_copies(char **word)
{
    size_t count = strtoull(word[3], NULL, 10);
    int root = atoi(word[4]), times = atoi(word[5]);
    const char *func = word[1], *datatype = word[2];
    unsigned char event[EVENT];
    if (version < 6 || !(mask & COPY_COLL))
        fail("copy engines are not asked for");
    for (int i = 0; i < times; i++) {
        begin(event, COPY_COLL, call(COLL_CALL, word[1], word[2], count, 0));
        put(event, 32, &func, sizeof(const char *));
        put(event, 56, &count, sizeof(count));
        put(event, 64, &root, sizeof(root));
        put(event, 72, &datatype, sizeof(const char *));
        stop(start(event));
    }
}

static void do_calls(char **word)
{
    for (int i = 0; i < atoi(word[4]); i++)
        (void)call(COLL_CALL, word[1], word[2], strtoull(word[3], NULL, 10), 0);
}

/* Several collectives in one kernel. */
static void do_group(int n, int times)
{
    size_t count = 1;
    unsigned char event[EVENT];
    for (int i = 0; i < times; i++) {
        void *parent = call(COLL_CALL, "AllReduce", "ncclFloat32", count, 0), *group = launch();
        for (int j = 0; j < n && is_told(group); j++) {
            const struct layout *at = &layouts[version];
            begin(event, COLL, parent);
            PUT_NAME(event, at->coll_func, functions, "AllReduce");
            PUT_NAME(event, at->coll_type, types, "ncclFloat32");
            PUT_NAME(event, at->algo, algorithms, "RING");
            PUT_NAME(event, at->proto, protocols, "LL");
            put(event, at->coll_count, &count, sizeof(count));
            put(event, at->channels, "", 1);
            stop(start(event));
        }
        stop(group);
    }
}

static void *run_thread(void *arg)
{
    char words[] = "coll:AllReduce:ncclFloat32:1:0:RING:SIMPLE:1:1:0", *word[WORDS];
    split(words, word);
    for (int i = 0; i < *(int *)arg; i++)
        do_coll(word);
    return NULL;
}

static void do_threads(char **word)
{
    pthread_t threads[64];
    int n = atoi(word[1]), times = atoi(word[2]);
    for (int i = 0; i < n; i++)
        if (n > 64 || pthread_create(&threads[i], NULL, run_thread, &times))
            fail("no thread");
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
}

/* ---- steps of a training ---- */

static void compute(long us)
{
    struct timespec now, end;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    end.tv_sec += (end.tv_nsec + us * 1000) / 1000000000;
    end.tv_nsec = (end.tv_nsec + us * 1000) % 1000000000;
    do
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void *run_busy(void *arg)
{
    for (;;)
        compute(1000000);
    return arg;
}

static void do_busy(int n)
{
    pthread_t thread;
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread, NULL, run_busy, NULL) || pthread_detach(thread))
            fail("no thread");
}

/* Each rank has done `at` steps or more. */
static void meet(int *done, int ranks, int at, int spins)
{
    __atomic_store_n(&done[communicators[current].rank], at, __ATOMIC_RELEASE);
    for (int r = 0; r < ranks; r++)
        while (__atomic_load_n(&done[r], __ATOMIC_ACQUIRE) < at)
            if (!spins)
                (void)usleep(500);
}

static void do_train(char **word)
{
    enum { PAGE = 4096 };
    int times = atoi(word[1]), every = atoi(word[4]), ranks = atoi(word[6]);
    char words[] = "coll:AllReduce:ncclFloat32:1:0:RING:SIMPLE:1:1:0", *coll[WORDS];
    int fd = open(word[5], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int *done = fd < 0 || ftruncate(fd, PAGE)
                    ? MAP_FAILED
                    : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (done == MAP_FAILED)
        fail("no file to meet at");
    split(words, coll);
    for (int i = 1; i <= times; i++) {
        compute(atol(word[2]));
        if (every && i % every == 0)
            (void)usleep((useconds_t)atoi(word[3]));
        do_coll(coll);
        meet(done, ranks, i, atoi(word[7]));
    }
}

/* ---- communicators, and unusual events ---- */

static void do_init(char **word)
{
    int ranks = atoi(word[2]), rank = atoi(word[3]), nodes = atoi(word[4]);
    const char *name = *word[5] ? word[5] : NULL;
    uint64_t id = strtoull(word[1], NULL, 16);
    if (ncommunicators == COMMUNICATORS)
        fail("too many communicators");
    current = ncommunicators++;
    communicators[current].id = id;
    communicators[current].rank = rank;
    void **context = &communicators[current].context;
    if (version < 4)
        check(table->init(context, &mask));
    else if (version == 4)
        check(table->init(context, &mask, name, id, nodes, ranks, rank, NULL));
    else
        check(table->init(context, id, &mask, name, nodes, ranks, rank, NULL));
}

struct joining {
    int *waiting; /* threads that have not arrived yet */
    int rank, ranks;
};

static void *run_join(void *arg)
{
    const struct joining *joining = arg;
    void *context;
    drive("fake_gpu_use", joining->rank);
    (void)__atomic_sub_fetch(joining->waiting, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(joining->waiting, __ATOMIC_RELAXED) > 0)
        (void)sched_yield(); /* spins, so that one thread per CPU continues at the same moment */
    check(
        table->init(&context, (uint64_t)0xb1, &mask, NULL, 1, joining->ranks, joining->rank, NULL));
    return NULL;
}

static void do_joins(int n)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    int waiting = n;
    struct joining joining[MOST];
    if (n > MOST || version < 5)
        fail("no joins");
    drive("fake_gpu_use", -1); /* loads the driver */
    for (int i = 0; i < n; i++) {
        joining[i] = (struct joining){&waiting, i, n};
        if (pthread_create(&threads[i], NULL, run_join, &joining[i]))
            fail("no thread");
    }
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
}

/* As in NCCL 2.28: each ring, and as many trees. */
static void do_graph(char **word)
{
    const char *path = getenv("NCCL_GRAPH_DUMP_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        fail("no file for a graph");
    (void)fprintf(file, "<graphs version=\"1\">\n");
    for (int id = 0; id < 2; id++) {
        (void)fprintf(file, "  <graph id=\"%d\" pattern=\"%d\" crossnic=\"0\">\n", id, 4 - id);
        for (int ring = 1; ring < WORDS && *word[ring]; ring++) {
            char gpus[64], *rest = gpus;
            (void)snprintf(gpus, sizeof(gpus), "%s", word[ring]);
            (void)fprintf(file, "    <channel>\n");
            for (const char *gpu; (gpu = strsep(&rest, ","));)
                (void)fprintf(file, "      <gpu dev=\"%s\"/>\n", gpu);
            (void)fprintf(file, "    </channel>\n");
        }
        (void)fprintf(file, "  </graph>\n");
    }
    (void)fprintf(file, "</graphs>\n");
    (void)fclose(file);
}

static void do_odd(void)
{
    unsigned char event[EVENT];
    void *handle = NULL;
    static const char text[] = "Frobnicate";
    const char *none = NULL, *name = version > 1 ? text : NULL;
    const struct layout *at = &layouts[version];
    for (int bit = 0; bit < (version < 5 ? 8 : 40); bit++) {
        if (((1ull << bit) & (COLL | P2P)) || (bit >= 9 && bit <= 12))
            continue;
        begin(event, 1ull << bit, NULL);
        stop(start(event));
    }
    size_t count = 10;
    begin(event, COLL, NULL); /* NULL names, and one that is new */
    put(event, at->coll_count, &count, sizeof(count));
    put(event, at->coll_func, &none, sizeof(none));
    put(event, at->coll_type, &name, sizeof(name));
    put(event, at->algo, &name, version > 1 ? sizeof(name) : 1);
    put(event, at->proto, &none, version > 1 ? sizeof(none) : 1);
    stop(start(event));
    check(table->start(NULL, &handle, event));
    check(table->start(communicators[current].context, NULL, event));
    check(table->start(communicators[current].context, &handle, NULL));
    check(table->start(NULL, NULL, NULL));
    check(table->stop(NULL));
    check(table->record(NULL, 99, NULL));
    check(table->finalize(NULL));
}

/* A child that continues without noticing the fork: it must not write to its parent's log. */
static void do_fork(void)
{
    int times = 5, status;
    pid_t pid = fork();
    if (!pid) {
        char words[] = "init:77:2:0:1", *word[WORDS];
        (void)run_thread(&times);
        split(words, word);
        do_init(word);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
        fail("the child has failed");
}

static void reload(void)
{
    if (dlclose(library))
        fail("dlclose");
    load();
}

static void do_step(char **word)
{
    if (!strcmp(word[0], "init"))
        do_init(word);
    else if (!strcmp(word[0], "coll"))
        do_coll(word);
    else if (!strcmp(word[0], "p2p"))
        do_p2p(word);
    else if (!strcmp(word[0], "ce"))
        do_copies(word);
    else if (!strcmp(word[0], "call"))
        do_calls(word);
    else if (!strcmp(word[0], "threads"))
        do_threads(word);
    else if (!strcmp(word[0], "joins"))
        do_joins(atoi(word[1]));
    else if (!strcmp(word[0], "odd"))
        do_odd();
    else if (!strcmp(word[0], "graph"))
        do_graph(word);
    else if (!strcmp(word[0], "gpu"))
        drive("fake_gpu_use", atoi(word[1]));
    else if (!strcmp(word[0], "kernel"))
        kernel_us = atoi(word[1]);
    else if (!strcmp(word[0], "capture"))
        drive("fake_gpu_capture", atoi(word[1]));
    else if (!strcmp(word[0], "group"))
        do_group(atoi(word[1]), atoi(word[2]));
    else if (!strcmp(word[0], "wait"))
        (void)usleep((useconds_t)atoi(word[1]));
    else if (!strcmp(word[0], "busy"))
        do_busy(atoi(word[1]));
    else if (!strcmp(word[0], "train"))
        do_train(word);
    else if (!strcmp(word[0], "use"))
        current = atoi(word[1]);
    else if (!strcmp(word[0], "finalize"))
        check(communicators[current].context ? table->finalize(communicators[current].context) : 0);
    else if (!strcmp(word[0], "reload"))
        reload();
    else if (!strcmp(word[0], "fork"))
        do_fork();
    else if (!strcmp(word[0], "kill"))
        (void)raise(SIGKILL);
    else
        fail(word[0]);
}

static char **steps; /* arguments that are left */

static void do_steps(void)
{
    while (*steps) {
        char *word[WORDS];
        split(*steps++, word);
        if (!strcmp(word[0], "behind"))
            return;
        do_step(word);
    }
}

int main(int argc, char **argv)
{
    plugin = argc > 2 ? argv[1] : getenv("NCCL_PROFILER_PLUGIN");
    version = argc > 2 ? atoi(argv[2]) : 0;
    if (!plugin || version < 1 || version > 6)
        fail("PLUGIN VERSION STEP...");
    if (!strcmp(plugin, "-")) /* as in NCCL: from its variable */
        plugin = getenv("NCCL_PROFILER_PLUGIN");
    if (!plugin)
        return 0;
    steps = argv + 3;
    if (atexit(do_steps))
        fail("no handler");
    load();
    do_steps();
    return 0;
}
