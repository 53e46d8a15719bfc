/* NVMe drives: state by sysfs, health by smartctl where it is installed. Declared in facts.h. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness/lib/base/array.h"
#include "harness/lib/files/file.h"
#include "harness/lib/files/proc.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/process.h"
#include "harness/machine/facts/facts.h"

/* A drive that does not answer keeps smartctl for long. */
static const double smart_limit_s = 5;
enum { SMART_MOST = 1 << 20 };

struct image {
    const char *path, *drive;
    int out;
};

/* Between fork and exec. */
static int become_smartctl(void *arg)
{
    const struct image *image = arg;
    const char *const argv[] = {"smartctl", "-j", "-a", image->drive, NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 &&
        dup2(image->out, STDOUT_FILENO) >= 0)
        (void)execv(image->path, (char *const *)argv);
    return 127;
}

/* False: it goes on, also one that was killed and that the kernel keeps. */
static bool ends_within(struct process *process, double limit_s)
{
    const struct timespec tick = {0, 10000000};
    uint64_t end_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9);
    int status;
    while (!process_ended(process, &status)) {
        if (clock_now_ns() > end_ns)
            return false;
        (void)nanosleep(&tick, NULL);
    }
    return true;
}

/* The exit code is a mask of what is wrong with the drive, and no sign of missing output. */
static char *run_smartctl(const char *path, const char *drive)
{
    struct process process;
    struct image image = {path, drive, memfd_create("contend-smartctl", MFD_CLOEXEC)};
    char *text = NULL;
    if (image.out < 0)
        return NULL;
    if (process_start(&process, false, become_smartctl, &image) == 0) {
        if (ends_within(&process, smart_limit_s)) {
            text = calloc(1, SMART_MOST);
            if (text && pread(image.out, text, SMART_MOST - 1, 0) <= 0)
                text[0] = '\0';
        } else {
            (void)process_signal(&process, SIGKILL);
            (void)ends_within(&process, 1);
        }
    }
    (void)close(image.out);
    return text;
}

/* Behind "name": in smartctl's JSON, whose names are there once; NaN = there is none. */
static double number_of(const char *json, const char *name)
{
    char quoted[64], *end;
    (void)snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    const char *at = strstr(json, quoted);
    double number = at ? strtod(at + strlen(quoted), &end) : (double)NAN;
    return at && end > at + strlen(quoted) ? number : (double)NAN;
}

static void read_drive(const char *path, const char *smartctl, struct facts_nvme *drive)
{
    char device[64];
    *drive = (struct facts_nvme){.name = ""};
    proc_copy_text(drive->name, sizeof(drive->name), strrchr(path, '/') + 1);
    (void)PROC_TEXT("", drive->state, "%s/state", path);
    (void)snprintf(device, sizeof(device), "/dev/%.40s", drive->name);
    char *json = smartctl[0] ? run_smartctl(smartctl, device) : NULL;
    const char *text = json ? json : "";
    drive->critical_warning = number_of(text, "critical_warning");
    drive->spare_percent = number_of(text, "available_spare");
    drive->spare_least_percent = number_of(text, "available_spare_threshold");
    drive->used_percent = number_of(text, "percentage_used");
    drive->media_errors = number_of(text, "media_errors");
    free(json);
}

int facts_read_nvme(const char *root, struct facts *facts, struct err *err)
{
    char pattern[PATH_MAX], smartctl[PATH_MAX];
    size_t capacity = 0;
    glob_t found = {0};
    int rc = 0;
    (void)snprintf(pattern, sizeof(pattern), "%s/sys/class/nvme/nvme[0-9]*", root);
    (void)glob(pattern, 0, NULL, &found);
    if (found.gl_pathc && file_find_program("smartctl", true, smartctl, sizeof(smartctl)))
        smartctl[0] = '\0';
    for (size_t i = 0; i < found.gl_pathc && !rc; i++) {
        struct facts_nvme *added = array_add(facts->nvmes, facts->nnvmes, capacity);
        if (added)
            read_drive(found.gl_pathv[i], smartctl, added);
        else
            rc = err_set(err, -ENOMEM, "no memory for the NVMe drives");
    }
    globfree(&found);
    return rc;
}
