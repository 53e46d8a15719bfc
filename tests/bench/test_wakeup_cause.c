/* What comes with late wake-ups, from a /proc of our own. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/os/wakeup_cause.h"
#include "tests/lib/unit.h"

static char root[] = "/tmp/contend-late-XXXXXX";

static void write_file(const char *path, const char *text)
{
    char full[256];
    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *path)
{
    char full[256];
    (void)snprintf(full, sizeof(full), "%s%s", root, path);
    assert_int_equal(mkdir(full, 0700), 0);
}

static void write_interrupts(unsigned disk, unsigned timer, unsigned net)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "           CPU0       CPU2\n"
                   " 36:          5   %8u PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
                   "LOC:        100   %8u   Local timer interrupts\n"
                   "ERR:          7\n",
                   disk, timer);
    write_file("/proc/interrupts", text);
    (void)snprintf(text, sizeof(text), "       CPU0  CPU2\n  NET_RX:  1 %u\n", net);
    write_file("/proc/softirqs", text);
}

/* 39 fields, the last of them the CPU. */
static void write_task(const char *path, const char *name, char state, unsigned os_cpu)
{
    char text[512];
    int used = snprintf(text, sizeof(text), "41 (%s) %c", name, state);
    for (int field = 4; field < 39; field++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, " 0");
    (void)snprintf(text + used, sizeof(text) - (size_t)used, " %u 0 0\n", os_cpu);
    write_file(path, text);
}

static int make_root(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(root));
    static const char *const folders[] = {
        "/proc",           "/proc/41", "/proc/41/task", "/proc/41/task/41", "/proc/41/task/42",
        "/proc/41/task/43"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        make_folder(folders[i]);
    return 0;
}

static int remove_root(void **state)
{
    (void)state;
    static const char *const files[] = {"/proc/interrupts",
                                        "/proc/softirqs",
                                        "/proc/41/task/41/stat",
                                        "/proc/41/task/42/stat",
                                        "/proc/41/task/43/stat",
                                        "/proc/41/task/41",
                                        "/proc/41/task/42",
                                        "/proc/41/task/43",
                                        "/proc/41/task",
                                        "/proc/41",
                                        "/proc",
                                        ""};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char full[256];
        (void)snprintf(full, sizeof(full), "%s%s", root, files[i]);
        (void)remove(full);
    }
    return access(root, F_OK) == 0;
}

/* Late ones come with the disk and with a runnable task, all with the timer; the network with none
 * that is late. */
TEST(late_names_what_came_with_it)
{
    struct wakeup_cause_log *log;
    struct wakeup_cause tells[WAKEUP_CAUSES];
    unsigned disk = 0, timer = 0, net = 0;
    write_interrupts(disk, timer, net);
    assert_int_equal(wakeup_cause_open(&log, root, 2, NULL), 0);
    for (unsigned i = 0; i < 8; i++) {
        bool late = i % 2 == 0;
        write_interrupts(disk, timer, net);
        wakeup_cause_look(log);
        disk += late;
        net += !late;
        write_interrupts(disk, ++timer, net);
        write_task("/proc/41/task/41/stat", "a) R 1;=", late ? 'R' : 'S', 2);
        write_task("/proc/41/task/42/stat", "elsewhere", 'R', 0);
        write_task("/proc/41/task/43/stat", "asleep", 'S', 2);
        wakeup_cause_judge(log, late);
    }
    assert_int_equal(wakeup_cause_find(&log, 1, tells, WAKEUP_CAUSES), 2);
    assert_string_equal(tells[0].what, "irq:virtio1-req.0");
    assert_string_equal(tells[1].what, "task:a)_R_1__");
    for (size_t i = 0; i < 2; i++) {
        assert_true(tells[i].late == 1);
        assert_true(tells[i].on_time == 0);
    }
    assert_int_equal(wakeup_cause_find(&log, 1, tells, 1), 1);
    wakeup_cause_close(log);
}

/* A server's devices: what all CPUs have comes behind them, and softirqs in the next file. */
static void write_many_interrupts(unsigned devices, unsigned count)
{
    enum { ROOM = 64 };
    char *text = calloc(devices + 2, ROOM), line[ROOM];
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, ROOM, "  CPU0  CPU2\n");
    for (unsigned i = 0; i < devices; i++)
        used += (size_t)snprintf(text + used, ROOM, "%5u:  1  %u  MSI  eth-%u\n", i, i, i);
    (void)snprintf(text + used, ROOM, "LOC:  1  %u  Local timer interrupts\n", count);
    write_file("/proc/interrupts", text);
    free(text);
    (void)snprintf(line, sizeof(line), "  CPU0  CPU2\n  NET_RX:  1  %u\n", count);
    write_file("/proc/softirqs", line);
}

TEST(late_behind_thousands_of_interrupts)
{
    enum { DEVICES = 3000 };
    struct wakeup_cause_log *log;
    struct wakeup_cause tells[WAKEUP_CAUSES];
    unsigned count = 0;
    write_many_interrupts(DEVICES, count);
    assert_int_equal(wakeup_cause_open(&log, root, 2, NULL), 0);
    for (unsigned i = 0; i < 8; i++) {
        bool late = i % 2 == 0;
        wakeup_cause_look(log);
        count += late;
        write_many_interrupts(DEVICES, count);
        wakeup_cause_judge(log, late);
    }
    assert_int_equal(wakeup_cause_find(&log, 1, tells, WAKEUP_CAUSES), 2);
    assert_string_equal(tells[0].what, "irq:LOC");
    assert_string_equal(tells[1].what, "softirq:NET_RX");
    assert_true(tells[0].late == 1 && tells[0].on_time == 0);
    wakeup_cause_close(log);
}

TEST(late_of_nothing)
{
    struct wakeup_cause_log *log;
    struct wakeup_cause tells[WAKEUP_CAUSES];
    write_interrupts(0, 0, 0);
    assert_int_equal(wakeup_cause_open(&log, root, 0, NULL), 0);
    wakeup_cause_look(log);
    wakeup_cause_judge(log, false);
    assert_int_equal(wakeup_cause_find(&log, 1, tells, WAKEUP_CAUSES), 0);
    wakeup_cause_close(log);
}

TEST(late_where_the_system_does_not_tell)
{
    struct wakeup_cause_log *log;
    struct err err = {0};
    write_interrupts(0, 0, 0);
    assert_int_equal(wakeup_cause_open(&log, root, 1, &err), -ENOTSUP);
    assert_null(log);
    assert_string_equal(err.msg, "the system does not tell the interrupts of CPU 1");
    assert_int_equal(wakeup_cause_open(&log, "/nobody", 0, &err), -ENOTSUP);
    write_file("/proc/softirqs", "");
    assert_int_equal(wakeup_cause_open(&log, root, 2, &err), -ENOTSUP);
    wakeup_cause_close(NULL);
}

AROUND_TESTS(make_root, remove_root)
