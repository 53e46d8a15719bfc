/* Reads of one data set in each way, through the contract; the data set itself. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "bench/io/read_points.h"
#include "bench/registry.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

enum { FILE_BYTES = 1 << 20, BLOCK = 4096, BLOCKS = FILE_BYTES / BLOCK, FILES = 8, FAR = 1 << 30 };

static struct bench_machine machine;

static unsigned names_in(const char *directory)
{
    DIR *open = opendir(directory);
    unsigned n = 0;
    assert_non_null(open);
    for (const struct dirent *entry; (entry = readdir(open));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(open);
    return n;
}

/* ---- the contract ---- */

static const char *const small[] = {"where=tmp", "size=8M", "files=8", "checkpoint=1M", NULL};

static void expect_read(const struct scan *scan, const char *key, bool may_lack)
{
    double speed = scan_value(scan, "read_speed", key);
    if (may_lack && isnan(speed)) {
        assert_non_null(scan_reason(scan, "read_speed", key));
        return;
    }
    if (!(speed > 0))
        fail_msg("%s: %g GB/s", key, speed);
    assert_true(scan_value(scan, "cpu_per_gb", key) > 0);
}

TEST(read_path_all_ways)
{
    struct scan scan;
    struct place place;
    assert_int_equal(setenv("TMPDIR", fixture_dir, 1), 0);
    assert_int_equal(place_open(&place, PLACE_TMP, NULL), 0);
    scan_run(&scan, &bench_read_path, &machine, small, 0.5);
    bool memory = place.memory;
    expect_read(&scan, "how=read;order=seq;cache=warm", false);
    expect_read(&scan, "how=mmap;order=random;cache=warm", false);
    expect_read(&scan, "how=read;order=files;cache=warm", false);
    expect_read(&scan, "how=pread;order=random;cache=cold", memory);
    expect_read(&scan, "how=mmap;order=seq;cache=cold", memory);
    expect_read(&scan, "how=pread;order=seq;cache=none", true);
    expect_read(&scan, "how=pread;order=files;cache=none", true);
    assert_int_equal(scan_count(&scan, "read_speed"), 7 + 5 + 5);
    assert_int_equal(scan_count(&scan, "shared_speed"), machine.ncpus > 1 ? 8 : 4);
    assert_int_equal(scan_count(&scan, "write_speed"), 2);
    assert_true(scan_value(&scan, "write_speed", "how=write") > 0);
    char key[64];
    put_text(key, "fs=%s", place.file_system);
    assert_true(fabs(scan_value(&scan, "data_set", key) - 8e-9 * (1 << 20)) < 1e-12);
    assert_int_equal(names_in(fixture_dir), 0);
    scan_end(&scan);
    assert_int_equal(names_in(fixture_dir), 0);
}

TEST(read_path_one_part)
{
    static const char *const pairs[] = {"where=tmp", "size=8M",   "files=8",    "checkpoint=1M",
                                        "part=seq",  "how=pread", "cache=warm", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_read_path, &machine, pairs, 0.05);
    assert_int_equal(scan_count(&scan, "read_speed"), 1);
    assert_int_equal(scan_count(&scan, "write_speed") + scan_count(&scan, "shared_speed"), 0);
    assert_true(scan_value(&scan, "cached_share", "how=pread;order=seq;cache=warm") > 0.97);
}

TEST(read_path_in_memory)
{
    struct place place;
    if (place_open_directory(&place, "/dev/shm", NULL) || !place.memory ||
        place.free_bytes < (uint64_t)256 << 20)
        skip();
    ENDED_BY(scan_end) struct scan scan;
    assert_int_equal(setenv("TMPDIR", "/dev/shm", 1), 0);
    scan_run(&scan, &bench_read_path, &machine, small, 0.3);
    assert_int_equal(setenv("TMPDIR", fixture_dir, 1), 0);
    assert_has(scan_reason(&scan, "read_speed", "how=read;order=seq;cache=cold"), "never cold");
    assert_has(scan_reason(&scan, "read_speed", "how=pread;order=seq;cache=none"), "in memory");
    assert_has(scan_reason(&scan, "write_speed", "how=direct"), "in memory");
    expect_read(&scan, "how=mmap;order=seq;cache=warm", false);
}

TEST(read_path_refuses)
{
    static const char *const none[] = {NULL};
    const struct read_path_params odd = {.block = 5000, .random_block = BLOCK, .file = BLOCK};
    struct scan scan;
    struct err err;
    assert_int_equal(bench_read_path.validate(&odd, &err), -EINVAL);
    assert_has(err.msg, "block must be a multiple of 4096");
    static const char *const tmp[] = {"where=tmp", NULL};
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    assert_int_equal(scan_probe(&scan, &bench_read_path, &machine, tmp), -ENOTSUP);
    assert_has(scan.err.msg, "/nowhere/at/all");
    assert_int_equal(setenv("TMPDIR", fixture_dir, 1), 0);
    assert_int_equal(scan_probe(&scan, &bench_read_path, &machine, none), 0);
}

/* ---- where files go ---- */

TEST(place_fits_a_quarter)
{
    struct place place = {.directory = "/d", .free_bytes = 1000};
    uint64_t bytes;
    struct err err;
    assert_int_equal(place_fit(&place, 10, 200, 10, 1, &bytes, &err), 0);
    assert_int_equal(bytes, 200);
    assert_int_equal(place_fit(&place, 10, 2000, 100, 1, &bytes, &err), 0);
    assert_int_equal(bytes, 200); /* a quarter of 1000 is 250 */
    assert_int_equal(place_fit(&place, 10, 2000, 10, 5, &bytes, &err), 0);
    assert_int_equal(bytes, 50);
    assert_int_equal(place_fit(&place, 251, 2000, 1, 1, &bytes, &err), -ENOTSUP);
    assert_has(err.msg, "/d has 1000 B free");
}

/* In a mount namespace of this process; the mounts disappear with it. */
static bool mount_tmpfs(const char *options, unsigned long flags)
{
    return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
           !mount("contend", fixture_dir, "tmpfs", flags, options);
}

TEST(data_on_a_full_disk)
{
    struct place place;
    struct data data;
    struct err err;
    if (!mount_tmpfs("size=2m", 0))
        skip();
    assert_int_equal(place_open_directory(&place, fixture_dir, &err), 0);
    assert_string_equal(place.file_system, "tmpfs");
    assert_int_equal(data_make(&data, &place, 1, 8 << 20, 1, &err), -ENOSPC);
    assert_has(err.msg, "No space left");
    assert_has(err.msg, "after 2 MiB");
    assert_int_equal(place_open_directory(&place, fixture_dir, &err), 0);
    assert_true(place.free_bytes >= (2 << 20) - 65536); /* the written data are gone */
    assert_int_equal(umount(fixture_dir), 0);
}

TEST(place_is_read_only)
{
    struct place place;
    struct err err;
    if (!mount_tmpfs("size=2m", MS_RDONLY))
        skip();
    assert_int_equal(place_open_directory(&place, fixture_dir, &err), -ENOTSUP);
    assert_has(err.msg, "Read-only file system");
    assert_int_equal(umount(fixture_dir), 0);
}

/* ---- the data set and its reader ---- */

static struct data make(unsigned nfiles, uint64_t file_bytes)
{
    struct place place;
    struct data data;
    struct err err;
    if (place_open_directory(&place, fixture_dir, &err) ||
        data_make(&data, &place, nfiles, file_bytes, 3, &err))
        fail_msg("%s", err.msg);
    return data;
}

TEST(data_in_the_page_cache)
{
    AUTO(data) data = make(1, FILE_BYTES);
    assert_int_equal(data_warm(&data, NULL), 0);
    assert_true(data_cached(&data) >= 1);
    bool memory = data.no_direct.code && strstr(data.no_direct.msg, "in memory");
    bool cold = false; /* another process may hold pages for a moment */
    for (int tries = 0; tries < PATIENCE && !cold; tries++) {
        assert_int_equal(data_evict(&data, NULL), 0);
        cold = data_cached(&data) <= 0;
        (void)usleep(10000);
    }
    assert_int_equal(cold, !memory);
}

static void drawn(uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)((i * 7 + 3) % n);
}

/* Reads everything once: a part that is read twice or never changes the number of bytes. */
static void read_all(const struct io_reader_plan *plan)
{
    struct io_reader reader;
    struct err err;
    bool over;
    int rc = io_reader_open(&reader, plan, &err);
    if (rc == -ENOTSUP)
        return;
    if (rc || io_reader_run(&reader, (uint64_t)60 * FAR, &over, &err))
        fail_msg("%s: %s", read_way_names[plan->way], err.msg);
    assert_true(over);
    assert_int_equal(reader.totals.bytes, plan->nunits * plan->unit_bytes);
    if (io_reader_verify(&reader, plan->nunits, &err))
        fail_msg("%s: %s", read_way_names[plan->way], err.msg);
    io_reader_close(&reader);
}

TEST(reader_reads_all_once)
{
    uint32_t order[BLOCKS], file_order[FILES];
    AUTO(data) whole = make(1, FILE_BYTES), files = make(FILES, BLOCK);
    drawn(order, BLOCKS);
    drawn(file_order, FILES);
    for (unsigned way = 0; way < READ_WAYS; way++) {
        struct io_reader_plan plan = {
            .data = &whole, .way = way, .unit_bytes = BLOCK, .nunits = BLOCKS, .every = 1};
        read_all(&plan);
        plan.order = order;
        if (way != READ_READ)
            read_all(&plan);
        plan.data = &files;
        plan.order = file_order;
        plan.nunits = FILES;
        read_all(&plan);
    }
}

TEST(reader_sees_a_wrong_byte)
{
    AUTO(data) data = make(1, FILE_BYTES);
    char byte;
    assert_int_equal(pread(data.files[0].fd, &byte, 1, 5 * BLOCK + 77), 1);
    byte ^= 4;
    assert_int_equal(pwrite(data.files[0].fd, &byte, 1, 5 * BLOCK + 77), 1);
    assert_int_equal(fsync(data.files[0].fd), 0);
    for (unsigned way = 0; way < READ_WAYS; way++) {
        const struct io_reader_plan plan = {
            .data = &data, .way = way, .unit_bytes = BLOCK, .nunits = BLOCKS, .every = 1};
        struct io_reader reader;
        if (io_reader_open(&reader, &plan, NULL) == -ENOTSUP)
            continue;
        assert_int_equal(io_reader_verify(&reader, BLOCKS, NULL), -EBADMSG);
        assert_int_equal(reader.wrong, 1);
        io_reader_close(&reader);
    }
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    machine.ncpus = machine.ncpus > 4 ? 4 : machine.ncpus;
    return 0;
}

AROUND_TESTS(fixture_make_dir, fixture_remove_dir)
