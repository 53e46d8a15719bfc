#include "harness/doctor/apply_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/lib/sys/file.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/sys/task.h"

static const char heading[] = "contend doctor state 3 ";
enum { STATE_MOST = 1 << 26 };

int apply_state_path(char *path, size_t size, struct err *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char folder[PATH_MAX];
    int n;
    if (state && state[0] == '/')
        n = snprintf(folder, sizeof(folder), "%s/contend", state);
    else if (home && home[0] == '/')
        n = snprintf(folder, sizeof(folder), "%s/.local/state/contend", home);
    else
        return err_set(err, -ENOENT, "no place for the state file: set HOME, or type --state FILE");
    if ((size_t)n >= sizeof(folder) ||
        (size_t)snprintf(path, size, "%s/doctor.state", folder) >= size)
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    return 0;
}

int apply_make_folder(const char *path, struct err *err)
{
    char folder[PATH_MAX];
    if ((size_t)snprintf(folder, sizeof(folder), "%s", path) >= sizeof(folder))
        return err_set(err, -ENAMETOOLONG, "the path of the state file is too long");
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(folder, 0700) && errno != EEXIST ? -errno : 0;
        if (rc)
            return err_sys(err, rc, "cannot make %.150s; take --state FILE", folder);
        *slash = '/';
    }
    return 0;
}

bool apply_is_same(pid_t pid, pid_t tid, unsigned long long start_ticks)
{
    return start_ticks && task_started(pid, tid) == start_ticks;
}

struct place {
    char host[65], boot[40], pids[64];
};

static void find_place(struct place *place)
{
    *place = (struct place){.host = "-", .boot = "-", .pids = "-"};
    if (gethostname(place->host, sizeof(place->host) - 1) || !place->host[0])
        (void)snprintf(place->host, sizeof(place->host), "-");
    if (!PROC_TEXT("", place->boot, "/proc/sys/kernel/random/boot_id"))
        (void)snprintf(place->boot, sizeof(place->boot), "-");
    ssize_t n = readlink("/proc/self/ns/pid", place->pids, sizeof(place->pids) - 1);
    if (n > 0)
        place->pids[n] = '\0';
}

void apply_state_head(FILE *out, enum apply_purpose purpose)
{
    struct place here;
    find_place(&here);
    (void)fprintf(out, "%s%s %d %llu %s %s %s\n", heading,
                  purpose == APPLY_TRIAL ? "trial" : "kept", (int)getpid(),
                  (unsigned long long)task_started(getpid(), 0), here.host, here.boot, here.pids);
}

void apply_state_end(FILE *out, size_t n)
{
    (void)fprintf(out, "end %zu\n", n);
}

int apply_state_create(const char *path, struct err *err)
{
    struct apply_state state;
    struct err ignored;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    if (errno != EEXIST)
        return err_sys(err, -errno, "cannot write the state to %.150s", path);
    (void)apply_state_read(path, &state, &ignored);
    free(state.masks);
    return err_set(err, -EEXIST,
                   "%.150s is of an earlier --apply (by %d): undo that first, with --undo", path,
                   (int)state.left.owner);
}

/* *rebooted: the host has rebooted since, so no process of the file exists any more. */
static bool parse_head(const char *text, struct apply_left *left, bool *rebooted)
{
    struct place here, there = {.host = ""};
    char purpose[8];
    int owner;
    unsigned long long start_ticks;
    *rebooted = false;
    left->kind = APPLY_LEFT_KEPT;
    if (strncmp(text, heading, strlen(heading)) != 0 ||
        sscanf(text + strlen(heading), "%7s %d %llu %64s %39s %63s", purpose, &owner, &start_ticks,
               there.host, there.boot, there.pids) != 6)
        return false;
    find_place(&here);
    left->owner = owner;
    bool same_host = strcmp(here.host, there.host) == 0;
    *rebooted = same_host && strcmp(here.boot, there.boot) != 0;
    if (!same_host || (!*rebooted && strcmp(here.pids, there.pids) != 0))
        left->kind = APPLY_LEFT_ELSEWHERE;
    else if (strcmp(purpose, "trial") == 0)
        left->kind = !*rebooted && apply_is_same(owner, owner, start_ticks) ? APPLY_LEFT_AT_WORK
                                                                            : APPLY_LEFT_BEHIND;
    return true;
}

static bool parse_mask(const char *line, struct apply_mask *mask)
{
    int pid, tid, at = 0;
    if (sscanf(line, "%d %llu %d %llu %n", &pid, &mask->start_ticks, &tid, &mask->task_start_ticks,
               &at) != 4 ||
        !at || pid < 1 || tid < 1)
        return false;
    mask->pid = pid;
    mask->tid = tid;
    return bitset_parse(line + at, &mask->mask, NULL) == 0;
}

static int parse_masks(char *text, bool rebooted, struct apply_state *state, struct err *err)
{
    char *rest = NULL;
    size_t lines = 1;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    state->masks = calloc(lines, sizeof(*state->masks));
    if (!state->masks)
        return err_set(err, -ENOMEM, "out of memory for the state");
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct apply_mask *mask = &state->masks[state->n];
        size_t n;
        if (sscanf(line, "end %zu", &n) == 1 && n == state->n && !strtok_r(NULL, "\n", &rest))
            return 0;
        if (!parse_mask(line, mask))
            return err_set(err, -EINVAL, "the state file has an invalid line: %.80s", line);
        if (rebooted)
            mask->start_ticks = mask->task_start_ticks = 0;
        if (mask->pid == mask->tid)
            *(apply_is_same(mask->pid, mask->pid, mask->start_ticks) ? &state->left.nlive
                                                                     : &state->left.nended) += 1;
        state->n++;
    }
    return err_set(err, -EINVAL, "the state file is cut short after %zu masks: nothing is undone",
                   state->n);
}

/* As file_read, for a file of this user. */
static int read_own(const char *path, char **text, struct err *err)
{
    struct stat about;
    size_t size;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ENOENT : err_sys(err, -errno, "cannot read %.150s", path);
    int rc = fstat(fd, &about) ? err_sys(err, -errno, "cannot read %.150s", path) : 0;
    if (!rc && (about.st_uid != geteuid() || about.st_mode & S_IWOTH))
        rc = err_set(err, -EPERM,
                     "%.150s belongs to user %u, or others may write to it: it is not followed; "
                     "type --state FILE",
                     path, (unsigned)about.st_uid);
    if (!rc && (rc = file_read_open(fd, STATE_MOST, text, &size)))
        (void)err_sys(err, rc, "cannot read %.150s", path);
    (void)close(fd);
    return rc;
}

int apply_state_read(const char *path, struct apply_state *state, struct err *err)
{
    char *text = NULL;
    bool rebooted = false;
    *state = (struct apply_state){0};
    int rc = read_own(path, &text, err);
    if (rc || !text)
        return rc == -ENOENT ? 0 : rc;
    char *end = strchr(text, '\n');
    if (!end || !parse_head(text, &state->left, &rebooted))
        rc = err_set(err, -EINVAL, "%.150s is no state file of contend doctor", path);
    if (!rc)
        rc = parse_masks(end + 1, rebooted, state, err);
    free(text);
    return rc;
}
