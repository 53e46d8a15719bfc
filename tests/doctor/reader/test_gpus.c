/* Which GPUs a process uses, over a made-up driver. */
#include "harness/doctor/reader/reader.h"
#include "tests/lib/fixture_driver.h"
#include "tests/lib/unit.h"

/* The GPUs of this child's parent. */
static int read_gpus(uint64_t *gpus)
{
    ENDED_BY(reader_close) struct reader reader;
    size_t users;
    CHECK(reader_open("", &reader, NULL) == 0);
    CHECK(reader_read_gpus(&reader, &users, NULL) == 0);
    CHECK(reader.view.ngpus == 3 && users == 1);
    const struct view_process *parent = view_find(&reader.view, (int)getppid());
    CHECK(parent);
    *gpus = parent->gpus;
    return 0;
}

static int check_all(void)
{
    uint64_t gpus;
    int line = read_gpus(&gpus);
    return line ? line : gpus != 7;
}

static int check_second(void)
{
    uint64_t gpus;
    int line = read_gpus(&gpus);
    return line ? line : gpus != 2;
}

static void check(const char *bytes, int (*one)(void))
{
    char states[160], link[64] = "";
    ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
    if (n < 0 || strcmp(link, "pid:[4026531836]") != 0) {
        print_message("in a namespace of pids, where the driver's are others\n");
        skip();
    }
    put_text(states, "pid=%d %s", (int)getpid(), bytes);
    fixture_driver_check("FULL", states, one);
}

TEST(gpus_all_of_a_process)
{
    check("used0=40000000000 used1=80000000000 used2=50000000000", check_all);
}

/* As when PyTorch loaded a checkpoint onto GPU 0, or ran a barrier there. */
TEST(gpus_stray_contexts_are_not_counted)
{
    check("used0=500000000 used1=80000000000 used2=600000000", check_second);
}

/* In a virtual machine or with MIG the driver does not report memory. */
TEST(gpus_unknown_memory_counts)
{
    check("used=0xffffffffffffffff", check_all);
}
