#include "harness/lib/sys/scheduler.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/lib/sys/proc.h"

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
