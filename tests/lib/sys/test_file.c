/* Finds programs in PATH, and replaces files whole. */
#include "harness/lib/sys/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
    put_text(list, "/proc/self/fd/%d", fixture_dir_fd);
    char all[256];
    put_text(all, "%s/one:%s/two:%s/three", list, list, list);
    set_path(all);
    assert_int_equal(file_find_program("tool", true, path, sizeof(path)), 0);
    assert_has(path, "/three/tool");
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

enum { WRITERS = 4, TURNS = 300, TEXT_MOST = 40000 };

/* Writes files of one letter each. */
static void write_often(unsigned writer)
{
    static char text[TEXT_MOST];
    const size_t size = TEXT_MOST / (writer + 1);
    memset(text, 'a' + (int)writer, size);
    for (int i = 0; i < TURNS; i++)
        if (file_replace(fixture_dir_fd, "one", text, size))
            _exit(1);
    _exit(0);
}

static void assert_whole(const char *text, size_t size)
{
    const unsigned writer = (unsigned)(text[0] - 'a');
    assert_in_range(writer, 0, WRITERS - 1);
    assert_int_equal(size, TEXT_MOST / (writer + 1));
    for (size_t i = 0; i < size; i++)
        assert_int_equal(text[i], text[0]);
}

static unsigned files_there(void)
{
    unsigned n = 0;
    DIR *files = file_open_folder(fixture_dir_fd, ".");
    for (struct dirent *file; (file = file_next(&files));)
        n += file->d_name[0] != '.';
    return n;
}

TEST_IN_DIR(file_of_several_writers_is_always_whole)
{
    int status = 0;
    assert_int_equal(file_replace(fixture_dir_fd, "one", "", 0), 0);
    for (unsigned i = 0; i < WRITERS; i++)
        if (!fork())
            write_often(i);
    for (int ended = 0; ended < WRITERS;) {
        FREED char *text = NULL;
        size_t size = 0;
        assert_int_equal(file_read(fixture_dir_fd, "one", TEXT_MOST, &text, &size), 0);
        if (size)
            assert_whole(text, size);
        ended += waitpid(-1, &status, WNOHANG) > 0;
        assert_int_equal(status, 0);
    }
    assert_int_equal(files_there(), 1);
}

TEST_IN_DIR(file_replace_follows_no_link_and_takes_no_name_that_is_there)
{
    char begun[64], *text = NULL;
    size_t size = 0;
    put_text(begun, "contend-%ld-0.tmp", (long)getpid());
    put("victim", 0644);
    assert_int_equal(symlinkat("victim", fixture_dir_fd, begun), 0);
    assert_int_equal(symlinkat("victim", fixture_dir_fd, "one"), 0);
    assert_int_equal(mkdirat(fixture_dir_fd, "folder", 0755), 0);
    assert_int_equal(file_replace(fixture_dir_fd, "one", "text", 4), 0);
    assert_int_equal(file_replace(fixture_dir_fd, "folder/two", "text", 4), 0);
    assert_int_equal(file_read(fixture_dir_fd, "victim", 10, &text, &size), 0);
    assert_int_equal(size, 0);
    free(text);
    assert_int_equal(file_read(fixture_dir_fd, "one", 10, &text, &size), 0);
    assert_string_equal(text, "text");
    free(text);
    assert_int_equal(file_replace(fixture_dir_fd, "folder", "text", 4), -EISDIR);
    assert_int_equal(files_there(), 4); /* folder, one, victim and the link */
}

TEST_IN_DIR(file_what_killed_writers_left_is_removed)
{
    char begun[64], live[64];
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    put_text(begun, "contend-%ld-1.tmp", (long)pid);
    put_text(live, "contend-%ld-0.tmp", (long)getpid());
    put(begun, 0644);
    put(live, 0644);
    put("contend-1-0.tmp", 0644);
    put("contend-x.tmp", 0644);
    file_remove_begun(fixture_dir_fd);
    assert_int_equal(faccessat(fixture_dir_fd, begun, F_OK, 0), -1);
    assert_int_equal(files_there(), 3);
}
