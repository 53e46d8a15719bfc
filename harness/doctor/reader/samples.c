#include "harness/doctor/reader/samples.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/doctor/reader/hung.h"
#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/array.h"

/*
 * Samples what busy threads do on a CPU, and finds the code that started them. Declared in
 * reader_parts.h.
 *
 * Samples: a perf_event_open(2) clock interrupts a thread every few ms of its own CPU time and
 * notes the address of its next user-mode instruction; in the kernel, that is the one after the
 * system call. On a full CPU, a time slice lasts from one kernel tick to a later one. If slices
 * were multiples of the period, samples would always hit the same part of a slice: its work, never
 * its waiting. So the period is not near a simple fraction of a tick (1, 3.3, 4 or 10 ms). Samples
 * need kernel.perf_event_paranoid <= 2 and the right to read the process. They are missing if
 * kernel time may not be sampled (without <= 1 or CAP_PERFMON), and during thread switches, when no
 * event counts: a thread that yields 40,000 times a second loses 40% of its CPU time there. The
 * thread's CPU time shows how many samples there should be.
 *
 * A sample counts as waiting in these cases. The address is in a library in which threads wait and
 * that computes next to nothing (is_waiting_library). Or it is beside code that waits
 * (samples.h).
 *
 * Start of a thread: glibc keeps struct pthread at the upper end of the thread's stack. It holds
 * the tid, and after it the start function and its argument. For std::thread, the argument is an
 * object whose vtable is in the library that made it. With other C libraries the start stays
 * unknown.
 */

enum {
    PERIOD_NS = 2472136,
    RING_PAGES = 8, /* 1365 samples: the first 3.4 s of CPU time */
    TASKS_MOST = 128,
    TASKS_EACH = 16,
    STACK_TOP = 16384
};

/* Share of one CPU: a process with less has no team that matters. */
static const double busy_least = 0.02;

static size_t ring_bytes(void)
{
    return (size_t)(1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

static void open_sample(struct view_task *task)
{
#ifdef __aarch64__
    static const uint64_t next_instruction = UINT64_C(1) << PERF_REG_ARM64_PC;
#else
    static const uint64_t next_instruction = UINT64_C(1) << PERF_REG_X86_IP;
#endif
    struct perf_event_attr attr = {.size = sizeof(attr),
                                   .type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = PERIOD_NS,
                                   .sample_type = PERF_SAMPLE_REGS_USER,
                                   .sample_regs_user = next_instruction,
                                   .exclude_hv = 1};
    do
        task->source.sample_fd =
            (int)syscall(SYS_perf_event_open, &attr, task->tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    while (task->source.sample_fd < 0 && !attr.exclude_kernel++);
    if (task->source.sample_fd < 0)
        return;
    void *ring =
        mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, task->source.sample_fd, 0);
    task->source.sample_ring = ring == MAP_FAILED ? NULL : ring;
    task->source.sampled_since_ns = task->source.oncpu_ns;
}

void reader_close_sample(struct view_task *task)
{
    if (task->source.sample_ring)
        (void)munmap(task->source.sample_ring, ring_bytes());
    if (task->source.sample_fd > 0)
        (void)close(task->source.sample_fd);
    task->source.sample_ring = NULL;
    task->source.sample_fd = 0;
}

/* From both ends: a library starts its pool when it is loaded, before those that call it. */
void reader_begin_samples(struct reader *reader)
{
    const struct view *view = &reader->view;
    unsigned opened = 0;
    for (size_t i = 0; i < view->nprocesses; i++) {
        const struct view_process *process = &view->processes[i];
        unsigned its = 0;
        size_t first = 0, end = process->watched ? process->ntasks : 0;
        while (first < end && its < TASKS_EACH && opened < TASKS_MOST) {
            struct view_task *task = &process->tasks[its % 2 ? first++ : --end];
            if (!task->is_detailed)
                continue;
            its++;
            opened++;
            if (!task->source.sample_fd)
                open_sample(task);
        }
    }
}

struct segment {
    uint64_t start, end;
    bool reads, writes, runs;
    const char *path; /* in reader->text; "" = no file */
};

/* The memory map of one process. */
struct memory {
    struct proc_sampler sampler;
    size_t n, capacity;
    struct segment *segments; /* owned, sorted by address */
};

static bool read_segments(struct reader *reader, const struct view_process *process,
                          struct memory *memory)
{
    char *rest = NULL, *text = reader_read_long(reader, process->source.dir_fd, "maps");
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *at = line;
        struct segment one = {.start = strtoull(at, &at, 16)};
        one.end = strtoull(at + 1, &at, 16);
        const char *path = strpbrk(at, "/[");
        if (strlen(at) < 5)
            continue;
        one.reads = at[1] == 'r';
        one.writes = at[2] == 'w';
        one.runs = at[3] == 'x';
        one.path = path ? path : "";
        struct segment *added = array_add(memory->segments, memory->n, memory->capacity);
        if (!added)
            return false;
        *added = one;
    }
    return memory->n > 0;
}

static const struct segment *find_segment(const struct memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->segments[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < memory->n && memory->segments[low].start <= address ? &memory->segments[low]
                                                                     : NULL;
}

/*
 * True for libraries in which threads wait: OpenMP runtimes, MPI and its transports, NCCL. MPI's
 * copies and sums of messages count as waiting too.
 */
static bool is_waiting_library(const char *path)
{
    static const char *const prefixes[] = {
        "libgomp",    "libiomp5", "libomp",   "libmpi.", "libmpi_", "libmpich",
        "libmpifort", "libopen-", "mca_",     "libucp",  "libuct",  "libucs",
        "libfabric",  "libpsm",   "libhcoll", "libnccl", "libgloo"};
    const char *name = strrchr(path, '/');
    for (size_t i = 0; name && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name + 1, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static enum waits waits_at(struct memory *memory, int tid, uint64_t address)
{
    uint8_t code[WAIT_CODE_BYTES];
    const struct segment *segment = find_segment(memory, address);
    if (!segment || address < sizeof(code))
        return WAITS_NOT;
    if (is_waiting_library(segment->path))
        return WAITS_PAUSE;
    return proc_sampler_read_memory(&memory->sampler, tid,
                                    (address & ~UINT64_C(3)) - sizeof(code) / 2, code, sizeof(code))
               ? wait_code_find(code)
               : WAITS_NOT;
}

static unsigned library_at(const struct memory *memory, uint64_t address)
{
    const struct segment *segment = find_segment(memory, address);
    return segment ? reader_library(segment->path) : 0;
}

static int by_address(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Samples are sorted, so that each address is judged once. */
static void count_samples(struct memory *memory, struct view_task *task,
                          struct view_process *process)
{
    const struct perf_event_mmap_page *page = task->source.sample_ring;
    const char *data = (const char *)page + sysconf(_SC_PAGESIZE);
    struct sample {
        struct perf_event_header header;
        uint64_t abi, address; /* in user mode; abi 0 = no address */
    };
    enum { MOST = 4096 };
    uint64_t addresses[MOST];
    size_t n = 0;
    uint64_t end = page->data_head;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    for (uint64_t at = 0; at + sizeof(struct sample) <= end && n < MOST;) {
        struct sample sample;
        memcpy(&sample, data + at % page->data_size, sizeof(sample));
        if (!sample.header.size)
            break;
        if (sample.header.type == PERF_RECORD_SAMPLE && sample.abi)
            addresses[n++] = sample.address;
        at += sample.header.size;
    }
    qsort(addresses, n, sizeof(addresses[0]), by_address);
    enum waits waits = WAITS_NOT;
    unsigned library = 0;
    size_t hits[8 * sizeof(library)] = {0};
    task->libraries = 0;
    for (size_t i = 0; i < n; i++) {
        if (!i || addresses[i] != addresses[i - 1]) {
            waits = waits_at(memory, task->tid, addresses[i]);
            library = library_at(memory, addresses[i]);
        }
        for (unsigned bit = 0; library >> bit; bit++)
            if (library >> bit & 1 && ++hits[bit] * 100 >= n)
                task->libraries |= library;
        process->samples++;
        process->spins += waits != WAITS_NOT;
        process->calls += waits == WAITS_CALL;
    }
    const bool is_full = n == MOST || end + sizeof(struct sample) > page->data_size;
    const uint64_t due = (task->source.oncpu_ns - task->source.sampled_since_ns) / PERIOD_NS;
    if (!is_full && due > n)
        process->missing_samples += (unsigned)(due - n);
}

/* Copies the last two components: for a Python library, the first one is its package. */
static void copy_end(const char *path, char *out, size_t size)
{
    const char *end = path + strlen(path);
    int slashes = 0;
    while (end > path && slashes < 2)
        slashes += *--end == '/';
    (void)snprintf(out, size, "%s", end + (*end == '/'));
    for (char *at = out; *at; at++)
        *at = (char)(*at < ' ' || *at > '~' ? '?' : *at);
}

static void name_start(struct memory *memory, struct view_task *task, uint64_t start,
                       uint64_t argument)
{
    const struct segment *segment = find_segment(memory, start), *maker = NULL;
    uint64_t table;
    if (strstr(segment->path, "/libstdc++") &&
        proc_sampler_read_memory(&memory->sampler, task->tid, argument, &table, sizeof(table)))
        maker = find_segment(memory, table);
    copy_end(maker && maker->path[0] == '/' ? maker->path : segment->path, task->from,
             sizeof(task->from));
}

static struct view_task *find_numbered(const struct memory *memory, struct view_process *process,
                                       uint32_t number)
{
    for (size_t i = 0; number && i < memory->sampler.ntasks; i++)
        for (size_t t = 0; memory->sampler.tasks[i].number == number && t < process->ntasks; t++)
            if (process->tasks[t].tid == memory->sampler.tasks[i].tid)
                return &process->tasks[t];
    return NULL;
}

/* On x86-64, struct pthread holds its own address in its head, before the tid. */
static bool is_behind_head(const uint64_t *words, size_t at, uint64_t address)
{
#ifdef __x86_64__
    enum { HEAD_WORDS = 128 };
    for (size_t i = at; i-- > 0 && at - i <= HEAD_WORDS;)
        if (words[i] == address + i * sizeof(words[0]))
            return true;
    return false;
#else
    (void)words, (void)at, (void)address;
    return true;
#endif
}

static void find_tids_on_stack(struct memory *memory, struct view_process *process, uint64_t top)
{
    enum { WORDS = STACK_TOP / 8, BEHIND = 200 };
    uint64_t words[WORDS], address = top - STACK_TOP;
    if (!proc_sampler_read_memory(&memory->sampler, process->pid, address, words, sizeof(words)))
        return;
    for (size_t i = 0; i < WORDS; i++) {
        struct view_task *task = find_numbered(memory, process, (uint32_t)words[i]);
        if (!task || !is_behind_head(words, i, address))
            continue;
        for (size_t w = i + 1; w + 1 < WORDS && w < i + BEHIND; w++) {
            const struct segment *segment = find_segment(memory, words[w]);
            if (!segment || !segment->runs || !segment->path[0])
                continue;
            name_start(memory, task, words[w], words[w + 1]);
            return;
        }
    }
}

/* A mapping above a stack may be merged with it in maps. Then the stack is looked for at the usual
 * size too. */
static void find_tids_on_stacks(struct memory *memory, struct view_process *process,
                                const struct segment *stack)
{
    static const uint64_t usual_bytes = 8 << 20;
    find_tids_on_stack(memory, process, stack->end);
    if (stack->end - stack->start > usual_bytes)
        find_tids_on_stack(memory, process, stack->start + usual_bytes);
}

/* True for a readable, writable segment after a guard without access rights. */
static bool is_stack(const struct memory *memory, size_t i)
{
    const struct segment *one = &memory->segments[i], *guard = i ? one - 1 : NULL;
    return one->reads && one->writes && one->path[0] != '/' && one->end - one->start >= STACK_TOP &&
           guard && guard->end == one->start && !guard->reads && !guard->writes && !guard->runs;
}

static void finish_process(struct reader *reader, struct view_process *process)
{
    struct memory memory = {0};
    if (!proc_sampler_open(process, reader->root, &memory.sampler))
        return;
    if (proc_sampler_list(&memory.sampler) && read_segments(reader, process, &memory)) {
        proc_sampler_number(&memory.sampler);
        for (size_t t = 0; t < process->ntasks; t++)
            if (process->tasks[t].source.sample_ring)
                count_samples(&memory, &process->tasks[t], process);
        /*
         * Without access to its memory (kernel.yama.ptrace_scope), spin loops are not recognized.
         */
        if (memory.sampler.memory_fd < 0 && !process->spins)
            process->samples = 0;
        for (size_t i = 0; i < memory.n; i++)
            if (is_stack(&memory, i))
                find_tids_on_stacks(&memory, process, &memory.segments[i]);
    }
    free(memory.segments);
    proc_sampler_close(&memory.sampler);
}

void reader_finish_samples(struct reader *reader)
{
    struct view *view = &reader->view;
    for (size_t i = 0; i < view->nprocesses; i++) {
        struct view_process *process = &view->processes[i];
        process->samples = process->spins = process->calls = process->missing_samples = 0;
        if (process->watched && process->cpu_s >= busy_least * view->wall_s)
            finish_process(reader, process);
    }
}

/* Bytes on either side of the sample. A loop of `nop` may be longer, as it reads the clock. */
enum { NEAR = 16 };

/* Four in a row: what aligns code is one longer instruction on x86, and up to three on aarch64. */
static bool has_nops(const uint8_t *code, size_t size)
{
#ifdef __aarch64__
    static const uint32_t nops[] = {0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f};
    const size_t step = 4;
#else
    static const uint8_t nops[] = {0x90, 0x90, 0x90, 0x90};
    const size_t step = 1;
#endif
    for (size_t i = 0; i + sizeof(nops) <= size; i += step)
        if (memcmp(code + i, nops, sizeof(nops)) == 0)
            return true;
    return false;
}

/* Code that calls sched_yield (24; on aarch64 124) or futex (202; 98), with the number. */
static enum waits find_near(const uint8_t *code, size_t size)
{
#ifdef __aarch64__
    static const uint32_t yield = 0xd503203f, isb = 0xd5033fdf;
    static const uint32_t calls[][2] = {{0xd2800f88, 0xd4000001}, {0xd2800c48, 0xd4000001}};
    const size_t step = 4;
#else
    static const uint8_t pause[] = {0xf3, 0x90};
    static const uint8_t calls[][7] = {{0xb8, 24, 0, 0, 0, 0x0f, 0x05},
                                       {0xb8, 202, 0, 0, 0, 0x0f, 0x05}};
    const size_t step = 1;
#endif
    for (size_t i = 0; i + 4 <= size; i += step) {
#ifdef __aarch64__
        uint32_t word;
        memcpy(&word, code + i, sizeof(word));
        if (word == yield || word == isb)
            return WAITS_PAUSE;
#else
        if (memcmp(code + i, pause, sizeof(pause)) == 0)
            return WAITS_PAUSE;
#endif
        for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
            if (i + sizeof(calls[c]) <= size && memcmp(code + i, calls[c], sizeof(calls[c])) == 0)
                return WAITS_CALL;
    }
    return WAITS_NOT;
}

enum waits wait_code_find(const uint8_t code[static WAIT_CODE_BYTES])
{
    return has_nops(code, WAIT_CODE_BYTES)
               ? WAITS_PAUSE
               : find_near(code + WAIT_CODE_BYTES / 2 - NEAR, (size_t)2 * NEAR);
}
