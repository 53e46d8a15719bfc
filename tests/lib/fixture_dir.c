#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

char fixture_dir[] = "/tmp/contend-test-XXXXXX";
int fixture_dir_fd;

int fixture_make_dir(void **state)
{
    strcpy(fixture_dir + sizeof(fixture_dir) - 7, "XXXXXX");
    if (!mkdtemp(fixture_dir))
        return -1;
    fixture_dir_fd = open(fixture_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fixture_dir_fd < 0;
}

int fixture_remove_dir(void **state)
{
    char command[64];
    (void)close(fixture_dir_fd);
    put_text(command, "rm -rf %s", fixture_dir);
    return system(command);
}

void fixture_put(const char *path, const char *text)
{
    char full[512];
    put_text(full, "%s%s", fixture_dir, path);
    for (char *at = full + sizeof(fixture_dir); (at = strchr(at, '/')); at++) {
        *at = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

char *fixture_read(const char *path, size_t *size)
{
    struct stat status;
    int fd = openat(fixture_dir_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    assert_int_equal(fstat(fd, &status), 0);
    char *bytes = calloc(1, (size_t)status.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)status.st_size), status.st_size);
    (void)close(fd);
    if (size)
        *size = (size_t)status.st_size;
    return bytes;
}
