/* Finds programs in PATH. */
#include "harness/lib/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

/* Tests restore PATH, since the tear-down finds the program that removes the directory by it. */
static void set_path(const char *path)
{
    assert_int_equal(setenv("PATH", path, 1), 0);
}

static void put(const char *name, mode_t mode)
{
    int fd = openat(fixture_dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

TEST_IN_DIR(file_finds_the_first_program_in_path)
{
    char path[PATH_MAX], list[64];
    assert_int_equal(mkdirat(fixture_dir_fd, "one", 0755), 0);
    assert_int_equal(mkdirat(fixture_dir_fd, "one/tool", 0755), 0); /* a directory is no program */
    assert_int_equal(mkdirat(fixture_dir_fd, "two", 0755), 0);
    assert_int_equal(mkdirat(fixture_dir_fd, "three", 0755), 0);
    put("two/tool", 0644); /* not executable */
    put("three/tool", 0755);
    (void)snprintf(list, sizeof(list), "/proc/self/fd/%d", fixture_dir_fd);
    char all[256];
    (void)snprintf(all, sizeof(all), "%s/one:%s/two:%s/three", list, list, list);
    set_path(all);
    assert_int_equal(file_find_program("tool", true, path, sizeof(path)), 0);
    assert_non_null(strstr(path, "/three/tool"));
    assert_int_equal(file_find_program("tool", true, path, 8),
                     -ENOENT); /* the buffer is too small */
    assert_int_equal(file_find_program("nosuch", false, path, sizeof(path)), -ENOENT);
    assert_int_equal(file_find_program("", false, path, sizeof(path)), -ENOENT);
    set_path("/usr/bin:/bin");
}

TEST_IN_DIR(file_finds_none_in_the_working_directory_where_that_is_not_wanted)
{
    char path[PATH_MAX];
    put("here", 0755);
    assert_int_equal(fchdir(fixture_dir_fd), 0);
    set_path(":/nosuch");
    assert_int_equal(file_find_program("here", false, path, sizeof(path)), 0);
    assert_string_equal(path, "./here");
    assert_int_equal(file_find_program("here", true, path, sizeof(path)), -ENOENT);
    assert_int_equal(chdir("/"), 0);
    set_path("/usr/bin:/bin");
}
