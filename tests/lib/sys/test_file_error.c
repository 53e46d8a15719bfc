/* A read error is not the end of a file. */
#include "harness/lib/sys/file.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static int reads_left = -1; /* read(2) fails after so many; -1 = never */

ssize_t read(int fd, void *buf, size_t size)
{
    if (reads_left == 0) {
        errno = EIO;
        return -1;
    }
    if (reads_left < 0)
        return syscall(SYS_read, fd, buf, size);
    reads_left--;
    return syscall(SYS_read, fd, buf, size < 3 ? size : 3);
}

TEST_IN_DIR(file_read_passes_on_errors)
{
    static const char all[] = "all of it";
    FREED char *text = NULL;
    size_t size = 0;
    assert_int_equal(file_write(fixture_dir_fd, "file", all, sizeof(all) - 1), 0);
    for (reads_left = 0; reads_left < 3;) {
        const int left = reads_left;
        assert_int_equal(file_read(fixture_dir_fd, "file", 100, &text, &size), -EIO);
        assert_null(text);
        reads_left = left + 1;
    }
    assert_int_equal(file_read(fixture_dir_fd, "file", 100, &text, &size), 0);
    reads_left = -1;
    assert_string_equal(text, all);
}
