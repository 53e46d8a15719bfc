/* Finds processes that /proc does not show: hidepid of proc(5). */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/doctor/reader/reader_parts.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/proc.h"

/* The options in a line "66 28 0:39 / /proc rw,relatime shared:5 - proc proc rw,hidepid=2". */
static const char *options_of_proc(char *line)
{
    char *end = strstr(line, " - proc "), *at = line;
    for (int field = 0; end && field < 4; field++) {
        at = strchr(at, ' ');
        if (!at++)
            return NULL;
    }
    if (!end || strncmp(at, "/proc ", 6) != 0)
        return NULL;
    char *last = strrchr(end, ' ');
    return last ? last + 1 : NULL;
}

/* The value of NAME= in a comma-separated list of options; NULL if missing. */
static const char *option_of(const char *options, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = options; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static bool is_member(gid_t group)
{
    int n = getgroups(0, NULL);
    gid_t *groups = n > 0 ? calloc((size_t)n, sizeof(*groups)) : NULL;
    bool found = getegid() == group;
    n = groups ? getgroups(n, groups) : 0;
    for (int i = 0; i < n; i++)
        found = found || groups[i] == group;
    free(groups);
    return found;
}

/* Translates the numbers that older kernels show. */
static void name_how(const char *value, char *how, size_t size)
{
    static const char *const names[] = {"off", "noaccess", "invisible", NULL, "ptraceable"};
    size_t length = strcspn(value, ",");
    if (length == 1 && *value >= '0' && *value <= '4' && names[*value - '0'])
        proc_copy_text(how, size, names[*value - '0']);
    else
        (void)snprintf(how, size, "%.*s", (int)length, value);
    if (strcmp(how, "off") == 0)
        how[0] = '\0';
}

/* True if we are in the group that sees all. With hidepid=ptraceable, gid= has no effect. */
static bool read_group(const char *options, struct view_hidden *hidden)
{
    const char *value = option_of(options, "gid");
    gid_t group = value ? (gid_t)strtoul(value, NULL, 10) : 0;
    if (!group || strcmp(hidden->how, "ptraceable") == 0)
        return false;
    const struct group *entry = getgrgid(group);
    (void)snprintf(hidden->group, sizeof(hidden->group), "%.40s%s%u%s", entry ? entry->gr_name : "",
                   entry ? " (" : "", (unsigned)group, entry ? ")" : "");
    return is_member(group);
}

void reader_find_hidden(struct reader *reader)
{
    struct view_hidden *hidden = &reader->view.hidden;
    const struct view_process *first = view_find(&reader->view, 1);
    char *rest = NULL, *text = reader_read_long(reader, reader->proc_fd, "self/mountinfo");
    bool sees_all = reader->view.is_root;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *options = options_of_proc(line);
        if (!options)
            continue;
        const char *value =
            option_of(options, "hidepid"); /* the last mount on /proc is the visible one */
        name_how(value ? value : "", hidden->how, sizeof(hidden->how));
        hidden->group[0] = '\0';
        sees_all = reader->view.is_root || read_group(options, hidden);
    }
    /* In a container, process 1 may be ours, so seeing it proves nothing. */
    bool is_ours = first && first->uid == reader->view.uid;
    hidden->any = !first || (hidden->how[0] && is_ours && !sees_all);
}

bool reader_add_hidden(struct reader *reader, pid_t pid)
{
    struct view_hidden *hidden = &reader->view.hidden;
    struct bitset cpus;
    /* sched_getaffinity works for any pid, even if /proc hides it. */
    if (!hidden->any || reader->root[0] || affinity_get(pid, &cpus) == -ESRCH)
        return false;
    if (hidden->npids < VIEW_HIDDEN_MAX)
        hidden->pids[hidden->npids] = (int)pid;
    hidden->npids++;
    return true;
}

int reader_refuse_hidden(const struct reader *reader, struct err *err)
{
    const struct view_hidden *hidden = &reader->view.hidden;
    struct bitset cpus;
    const char *list = !affinity_get(hidden->pids[0], &cpus) ? bitset_format(&cpus) : "";
    return err_set(
        err, -EACCES,
        "process %d exists%s%.60s, but /proc hides it (hidepid%s%s): root%s%s could watch it",
        hidden->pids[0], list[0] ? " and may use CPUs " : "", list, hidden->how[0] ? "=" : "",
        hidden->how, hidden->group[0] ? " or a member of group " : "", hidden->group);
}
