#include "harness/lib/sys/affinity.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/lib/sys/proc.h"

static struct bitset at_start;

/* Runs before any sanitizer or library is initialized, so only a system call to static memory. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void read_at_start(void)
{
    (void)syscall(SYS_sched_getaffinity, 0, sizeof(at_start.word), at_start.word);
}

/* .preinit_array runs before the constructors of all libraries. */
__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = read_at_start;

const struct bitset *affinity_at_start(void)
{
    return &at_start;
}

void affinity_restore(void)
{
    if (!bitset_empty(&at_start))
        (void)affinity_set(0, &at_start);
}

/* From /proc, for sandboxes that refuse the call. */
static bool read_text(pid_t tid, struct bitset *cpus)
{
    char path[40] = "/proc/thread-self/status", list[4096];
    if (tid)
        (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    return proc_read_field("", path, "Cpus_allowed_list", ':', list, sizeof(list)) &&
           !bitset_parse(list, cpus, NULL);
}

int affinity_get(pid_t tid, struct bitset *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    if (syscall(SYS_sched_getaffinity, tid, sizeof(cpus->word), cpus->word) >= 0)
        return 0;
    int rc = -errno;
    return rc != -ESRCH && read_text(tid, cpus) ? 0 : rc;
}

const char *const cpu_policy_names[] = {"default", "batch", "idle", NULL};

int cpu_priority_set(const struct cpu_priority *priority, struct err *err)
{
    static const int policies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE};
    const struct sched_param none = {0};
    const int nice = (int)priority->nice, policy = policies[priority->policy];
    if (priority->policy && sched_setscheduler(0, policy, &none))
        return err_sys(err, -errno, "policy %s is refused", cpu_policy_names[priority->policy]);
    if (nice && setpriority(PRIO_PROCESS, 0, nice))
        return err_sys(err, -errno, "nice level %d is refused", nice);
    if ((nice && getpriority(PRIO_PROCESS, 0) != nice) ||
        (priority->policy && sched_getscheduler(0) != policy))
        return err_set(err, -EINVAL, "nice level %d and policy %s do not read back", nice,
                       cpu_policy_names[priority->policy]);
    return 0;
}

void cpu_priority_take(struct cpu_priority *to, const struct cpu_priority *from)
{
    to->nice = from->nice ? from->nice : to->nice;
    to->weight = from->weight ? from->weight : to->weight;
    to->policy = from->policy ? from->policy : to->policy;
}

bool affinity_keeps(const struct bitset *mask, const struct bitset *planned)
{
    return bitset_subset(mask, planned);
}

int affinity_check(void)
{
    static unsigned long most[8192 / sizeof(unsigned long)]; /* 65,536 CPUs */
    return syscall(SYS_sched_getaffinity, 0, sizeof(most), most) < 0 ? -errno : 0;
}

int affinity_check_memory(void)
{
    enum { DEFAULT_POLICY = 0 }; /* linux/mempolicy.h */
    return syscall(SYS_set_mempolicy, DEFAULT_POLICY, NULL, 0UL) ? -errno : 0;
}

int affinity_set(pid_t tid, const struct bitset *cpus)
{
    return syscall(SYS_sched_setaffinity, tid, sizeof(cpus->word), cpus->word) ? -errno : 0;
}

/* Reads lines "ADDRESS TYPE NAME", which may end with a module in brackets. */
static const char *fair_class(const char *root)
{
    char path[PATH_MAX], line[512], name[256];
    bool eligible = false, fair = false;
    (void)snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
    FILE *file = fopen(path, "re");
    while (file && !eligible && fgets(line, sizeof(line), file))
        if (sscanf(line, "%*s %*c %255s", name) == 1) {
            eligible = strcmp(name, "avg_vruntime") == 0;
            fair = fair || strcmp(name, "task_tick_fair") == 0;
        }
    if (file)
        (void)fclose(file);
    return eligible ? "EEVDF" : fair ? "CFS" : "";
}

/* Reads the kernel's own scheduler, without sched_ext. */
static void read_own(const char *root, char *out, size_t size)
{
    char text[PROC_TEXT_MAX];
    /* EEVDF introduced slices per task; finding one saves a search of 100,000 symbols. */
    bool slices = proc_read_field(root, "/proc/self/sched", "se.slice", ':', text, sizeof(text));
    const char *fair = slices ? "EEVDF" : fair_class(root);
    bool bore = fair[0] && proc_read_number(root, "/proc/sys/kernel/sched_bore") > 0;
    (void)snprintf(out, size, "%s%s", fair, bore ? " with BORE" : "");
}

char *scheduler_read(const char *root, char *out, size_t size)
{
    char state[PROC_TEXT_MAX], ops[PROC_TEXT_MAX], own[PROC_TEXT_MAX];
    bool loaded =
        PROC_TEXT(root, state, "/sys/kernel/sched_ext/state") && strcmp(state, "enabled") == 0;
    if (!loaded) {
        read_own(root, out, size);
        return out;
    }
    if (!PROC_TEXT(root, ops, "/sys/kernel/sched_ext/root/ops"))
        proc_copy_text(ops, sizeof(ops), "unknown");
    if (proc_read_number(root, "/sys/kernel/sched_ext/switch_all") == 0) {
        read_own(root, own, sizeof(own));
        (void)snprintf(out, size, "%s, and sched_ext: %s for some", own[0] ? own : "unknown", ops);
    } else {
        (void)snprintf(out, size, "sched_ext: %s", ops);
    }
    return out;
}
