/*
 * A CUDA driver and an NVML in one shared library. NVML knows three GPUs; CUDA sees two of them, in
 * another order. No machine has the PCI domain beef, so sysfs says nothing about these GPUs. BARE
 * has only the calls that contend requires; in BROKEN both libraries fail to start; in OLD
 * processes are listed as by old drivers; FULL has all.
 *
 * FAKE_GPU="width=8 mig1=1 ecc=fails" sets states of all GPUs, or of one GPU if the name ends with
 * its number (PCI bus 7 + number); "fails" makes the call return an error. Without it all GPUs are
 * healthy. With FAKE_GPU_USERS, a file, counters restart (FAKE_GPU_READINGS) while NVML has no user
 * yet, like those of a driver without persistence mode.
 *
 * For the profiler plugin, stub_nccl.c sets the thread's GPU, how long kernels run and whether the
 * stream is captured. Time advances by kernels alone; the first query of an event says that it is
 * not yet over. Calls that a capture elsewhere would forbid, and records into a captured stream,
 * end the program.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static int handles[3] = {0, 1, 2}; /* PCI buses 7, 8, 9 */

/* As in CUDA, the first name that is no device ends the list. */
static int shows_nothing(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return visible && (*visible < '0' || *visible > '1' || visible[1] > '9');
}

int cuInit(unsigned flags)
{
#ifdef BROKEN
    return 100;
#endif
    return shows_nothing() ? 100 : (int)flags;
}

int cuDeviceGetCount(int *count)
{
    *count = 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = 1 - ordinal;
    return 0;
}

int cuDeviceGetPCIBusId(char *bdf, int len, int device)
{
    return snprintf(bdf, (size_t)len, "BEEF:%02X:00.0", 7 + device) < 0;
}

static pid_t initialised; /* as with NVML, a fork cannot use its copy */

static void join_users(void)
{
    const char *users = getenv("FAKE_GPU_USERS"), *readings = getenv("FAKE_GPU_READINGS");
    int fd = users ? open(users, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    if (!flock(fd, LOCK_EX | LOCK_NB) && readings && truncate(readings, 0))
        perror(readings);
    (void)flock(fd, LOCK_SH); /* until this process ends */
}

int nvmlInit_v2(void)
{
#ifdef BROKEN
    return 9;
#endif
    initialised = getpid();
    join_users();
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, int **device)
{
    unsigned domain, bus;
    if (initialised != getpid())
        return 1;
    if (sscanf(bdf, "%x:%x", &domain, &bus) != 2 || domain != 0xbeef || bus < 7 || bus > 9)
        return 6;
    *device = &handles[bus - 7];
    return 0;
}

#ifndef BARE
struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

/* The state's value, or `otherwise`; sets *fails if the call is to fail. */
static unsigned long long state(const char *name, int device, unsigned long long otherwise,
                                int *fails)
{
    char own[64];
    const char *set = getenv("FAKE_GPU");
    for (int pass = 0; set && pass < 2; pass++) {
        snprintf(own, sizeof(own), pass ? " %s=" : " %s%d=", name, device);
        for (const char *at = set; *at; at++) {
            size_t skip = at == set ? 1 : 0;
            if (strncmp(at, own + skip, strlen(own + skip)) != 0)
                continue;
            at += strlen(own + skip);
            if (fails)
                *fails = strncmp(at, "fails", 5) == 0;
            return strtoull(at, NULL, 0);
        }
    }
    if (fails)
        *fails = 0;
    return otherwise;
}

/* A call that returns one number. */
#define NUMBER(function, name, otherwise)                                                          \
    int function(int *device, unsigned *value)                                                     \
    {                                                                                              \
        int fails;                                                                                 \
        *value = (unsigned)state(name, *device, otherwise, &fails);                                \
        return fails ? 3 : 0;                                                                      \
    }

/* A call that returns the current and the pending value. */
#define PAIR(function, name, otherwise)                                                            \
    int function(int *device, unsigned *now, unsigned *pending)                                    \
    {                                                                                              \
        int fails;                                                                                 \
        *now = (unsigned)state(name, *device, otherwise, &fails);                                  \
        *pending = (unsigned)state(name "_pending", *device, *now, NULL);                          \
        return fails ? 3 : 0;                                                                      \
    }

NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "gen", 5)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "gen_link", 5)
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "gen_gpu", 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "width", 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "width_max", 16)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "pages_pending", 0)
NUMBER(nvmlDeviceGetPersistenceMode, "persistence", 1)
NUMBER(nvmlDeviceGetComputeMode, "mode", 0)
NUMBER(nvmlDeviceGetMemoryBusWidth, "bus_bits", 5120)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig_most", 7)
NUMBER(nvmlDeviceGetPowerUsage, "power", 120400)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "limit", 700000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "limit_default", 700000)
PAIR(nvmlDeviceGetEccMode, "ecc", 1)
PAIR(nvmlDeviceGetMigMode, "mig", 0)

int cuDeviceGetName(char *name, int len, int device)
{
    return snprintf(name, (size_t)len, "Fake \033[31m GPU %d", device) < 0;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    memset(uuid, 0xa0 + device, 16);
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    while (state("hang", 0, 0, NULL))
        (void)pause();
    if (initialised != getpid())
        return 1;
    *count = 3;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, int **device)
{
    *device = &handles[index];
    return 0;
}

int nvmlDeviceGetPciInfo_v3(int *device, struct pci *pci)
{
    pci->domain = 0xbeef;
    pci->bus = 7 + (unsigned)*device;
    pci->device = 0;
    return snprintf(pci->bus_id, sizeof(pci->bus_id), "0000BEEF:%02X:00.0", 7 + *device) < 0;
}

int nvmlDeviceGetName(int *device, char *name, unsigned len)
{
    if (*device >= 100)
        return snprintf(name, len, "NVIDIA Fake MIG %dg.18gb", *device - 99) < 0;
    return snprintf(name, len, "NVML %d", *device) < 0;
}

/* The first two GPUs name their node; the third names all nodes, as NVML does if it does not
 * know. */
int nvmlDeviceGetMemoryAffinity(int *device, unsigned words, unsigned long *nodes, int scope)
{
    memset(nodes, 0, words * sizeof(*nodes));
    nodes[0] = *device < 2 ? 1UL << *device : 3UL;
    return scope;
}

int nvmlDeviceGetCpuAffinity(int *device, unsigned words, unsigned long *cpus)
{
    (void)device;
    memset(cpus, 0xff, words * sizeof(*cpus));
    return 0;
}

int nvmlDeviceGetClockInfo(int *device, int clock, unsigned *mhz)
{
    *mhz = clock == 1 ? 1500 + (unsigned)*device : 0;
    return 0;
}

int nvmlDeviceGetTemperature(int *device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 40;
    return sensor;
}

/* Utilization of the GPU, then of its memory, in percent; not supported unless set. */
int nvmlDeviceGetUtilizationRates(int *device, unsigned *shares)
{
    shares[0] = (unsigned)state("busy", *device, 101, NULL);
    shares[1] = 0;
    return shares[0] > 100 ? 3 : 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(int *device, unsigned long long *reasons)
{
    *reasons = state("throttle", *device, 0, NULL);
    return 0;
}

/*
 * Counters are 0, and those of energy and limits unknown, unless their state is set; with
 * "replays=fails" this GPU lacks the counter. With "replays_more=3" as well, each reading by any
 * process is 3 above the previous one; "replays_more=-3" is 3 below it. NVLink's counters are
 * totals of all links; with "nvlink5_links=2" the counters of NVLink 5 exist for two links alone.
 */
struct field {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, status;
    unsigned long long value;
};
static const struct {
    unsigned field;
    const char *name;
    int zero; /* it reads 0 where no state is set */
} counters[] = {
    {3, "corrected", 1},        {4, "uncorrected", 1},
    {38, "crc_flit", 1},        {45, "crc_data", 1},
    {52, "nvlink_replays", 1},  {59, "recoveries", 1},
    {94, "replays", 1},         {142, "rows", 1},
    {143, "rows_bad", 1},       {74, "limited_power", 0},
    {75, "limited_heat", 0},    {76, "limited_boost", 0},
    {77, "limited_board", 0},   {78, "limited_idle", 0},
    {79, "limited_voltage", 0}, {83, "energy", 0},
    {138, "nvlink_sent", 0},    {139, "nvlink_received", 0},
    {202, "nvlink5_sent", 0},   {204, "nvlink5_received", 0},
};
enum { FIELDS = sizeof(counters) / sizeof(counters[0]) };

/* Number of readings of each counter; in the file FAKE_GPU_READINGS if processes share it. */
static unsigned long long *readings_of(int device, int counter)
{
    static unsigned long long own[3][FIELDS], (*readings)[FIELDS];
    const char *path = getenv("FAKE_GPU_READINGS");
    if (!readings && path) {
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        if (fd >= 0 && !ftruncate(fd, sizeof(own)))
            readings = mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    return &(readings ? readings : own)[device][counter];
}

static int is_of_links(int device, const struct field *field)
{
    unsigned long long links = field->field > 200 ? state("nvlink5_links", device, 0, NULL) : 0;
    return links ? field->scope < links : field->scope == ~0U;
}

static void read_counter(int device, struct field *field)
{
    const unsigned long long unset = ~0ULL;
    char more[64];
    int fails = 0;
    field->status = 3;
    for (int i = 0; i < FIELDS; i++) {
        if (counters[i].field != field->field)
            continue;
        snprintf(more, sizeof(more), "%s_more", counters[i].name);
        field->value = state(counters[i].name, device, counters[i].zero ? 0 : unset, &fails);
        field->status = fails || field->value == unset ? 3 : 0;
        if (strncmp(counters[i].name, "nvlink5_", 8) == 0 || field->field == 138 ||
            field->field == 139)
            field->status = is_of_links(device, field) ? field->status : 2;
        if (!field->status)
            field->value += (*readings_of(device, i))++ * state(more, device, 0, NULL);
        field->type = field->field == 94 ? 1 : 3;
    }
}

int nvmlDeviceGetFieldValues(int *device, int count, struct field *fields)
{
    int fails;
    (void)state("fields", *device, 0, &fails);
    for (int i = 0; i < count; i++)
        read_counter(*device, &fields[i]);
    return fails ? 3 : 0;
}

/* A set reports the Xid of the state `xid` once for each of its GPUs, after an Xid 45. */
struct event {
    int *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};
static struct set {
    int pending[3], open;
} events;

int nvmlEventSetCreate(struct set **set)
{
    if (events.open)
        return 3;
    memset(&events, 0, sizeof(events));
    events.open = 1;
    *set = &events;
    return 0;
}

int nvmlDeviceRegisterEvents(int *device, unsigned long long types, struct set *set)
{
    set->pending[*device] = types == 0x8 && state("xid", *device, 0, NULL) ? 2 : 0;
    return 0;
}

int nvmlEventSetWait_v2(struct set *set, struct event *event, unsigned most_ms)
{
    for (int i = 0; i < 3; i++)
        if (set->pending[i]) {
            unsigned long long xid = set->pending[i]-- == 2 ? 45 : state("xid", i, 0, NULL);
            *event = (struct event){&handles[i], 0x8, xid, 0, 0};
            return 0;
        }
    return most_ms ? 1 : 10;
}

int nvmlEventSetFree(struct set *set)
{
    set->open = 0;
    return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned len)
{
    return snprintf(version, len, "999.1") < 0;
}

int cuDriverGetVersion(int *version)
{
    *version = (int)state("cuda", 0, 99000, NULL);
    return 0;
}

int cuGetErrorString(int error, const char **text)
{
    *text = error == 100 ? "no CUDA-capable device is detected" : "unknown error";
    return 0;
}

/* The first `links_down` of the `links` links are down. */
int nvmlDeviceGetNvLinkState(int *device, unsigned link, unsigned *active)
{
    if (link >= state("links", *device, 18, NULL))
        return 2;
    *active = link >= state("links_down", *device, 0, NULL);
    return 0;
}

/* Without the state `fabric`: a GPU without NVSwitch. */
struct fabric {
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique;
    unsigned char state;
};
int nvmlDeviceGetGpuFabricInfo(int *device, struct fabric *fabric)
{
    fabric->state = (unsigned char)state("fabric", *device, 0, NULL);
    fabric->status = (int)state("fabric_status", *device, 0, NULL);
    fabric->cluster_uuid[15] = (unsigned char)state("fabric_cluster", *device, 0, NULL);
    return 0;
}

int nvmlDeviceGetNvLinkVersion(int *device, unsigned link, unsigned *version)
{
    *version = (unsigned)state("link_version", *device, 4 + link * 0, NULL);
    return 0;
}

int nvmlDeviceGetTotalEccErrors(int *device, int kind, int since, unsigned long long *count)
{
    static const char *const names[2][2] = {{"corrected", "corrected_life"},
                                            {"uncorrected", "uncorrected_life"}};
    int fails;
    *count = state(names[kind][since], *device, 0, &fails);
    return fails ? 3 : 0;
}

int nvmlDeviceGetRemappedRows(int *device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *pending, unsigned *failed)
{
    *corrected = (unsigned)state("rows", *device, 0, NULL);
    *uncorrected = (unsigned)state("rows_bad", *device, 0, NULL);
    *pending = (unsigned)state("rows_pending", *device, 0, NULL);
    *failed = (unsigned)state("rows_failed", *device, 0, NULL);
    return 0;
}

int nvmlDeviceGetMaxClockInfo(int *device, int clock, unsigned *mhz)
{
    *mhz = clock == 1 ? (unsigned)state("clock_max", *device, 1980, NULL) : 0;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(int *device, unsigned index, int **instance)
{
    static int instances[8] = {100, 101, 102, 103, 104, 105, 106, 107};
    *instance = &instances[index % 8];
    return index < state("instances", *device, 2, NULL) ? 0 : 6;
}

int nvmlDeviceGetVbiosVersion(int *device, char *version, unsigned len)
{
    return snprintf(version, len, "96.00.%d\033", *device) < 0;
}

int nvmlDeviceGetUUID(int *device, char *uuid, unsigned len)
{
    return *device < 100 || snprintf(uuid, len, "MIG-fake-%d", *device) < 0 ? 3 : 0;
}

/* One process of pid `pid`, or `pids` processes from that pid on, each with `used` bytes of
 * memory. */
#ifdef OLD
struct process {
    unsigned pid;
    unsigned long long used;
};
#define LIST_PROCESSES nvmlDeviceGetComputeRunningProcesses
#else
struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
#define LIST_PROCESSES nvmlDeviceGetComputeRunningProcesses_v3
#endif

int LIST_PROCESSES(int *device, unsigned *count, struct process *list)
{
    unsigned first = (unsigned)state("pid", *device, 0, NULL);
    unsigned n = first ? (unsigned)state("pids", *device, 1, NULL) : 0;
    unsigned room = *count;
    *count = n;
    if (n > room)
        return 7;
    for (unsigned i = 0; i < n; i++)
        list[i] =
            (struct process){.pid = first + i, .used = state("used", *device, 1ULL << 30, NULL)};
    return 0;
}

enum { RELAXED = 2, NOT_READY = 600, NO_CONTEXT = 201 };
struct timed {
    long us;
    int asked;
};
static _Thread_local int used;
static int captured, mode;
static long now_us;

void fake_gpu_use(int device)
{
    used = device;
}

void fake_gpu_capture(int on)
{
    captured = on;
}

void fake_gpu_run(int us)
{
    now_us += us;
}

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fake_gpu_driver: %s\n", what);
    exit(1);
}

int cuCtxGetDevice(int *device)
{
    *device = used;
    return used < 0 ? NO_CONTEXT : 0;
}

int cuThreadExchangeStreamCaptureMode(int *other)
{
    int before = mode;
    mode = *other;
    *other = before;
    return 0;
}

int cuStreamIsCapturing(void *stream, int *status)
{
    (void)stream;
    *status = captured;
    return 0;
}

int cuEventCreate(void **event, unsigned flags)
{
    need(mode == RELAXED, "an event is made while a capture may be under way");
    *event = calloc(1, sizeof(struct timed));
    return !*event || flags;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    return 0;
}

int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    need(mode == RELAXED && !captured, "an event is recorded into a capture");
    *(struct timed *)event = (struct timed){now_us, 0};
    return 0;
}

int cuEventQuery(void *event)
{
    need(mode == RELAXED, "an event is asked while a capture may be under way");
    return ((struct timed *)event)->asked++ ? 0 : NOT_READY;
}

int cuEventElapsedTime(float *ms, void *start, void *end)
{
    *ms = (float)(((struct timed *)end)->us - ((struct timed *)start)->us) / 1000;
    return 0;
}
#endif
