/* The program's own name in commands that users paste. */
#include "harness/cmd/common/start.h"
#include "tests/lib/unit.h"

#include <sys/stat.h>

static void assert_named(const char *argv0, const char *expected)
{
    char name[64];
    assert_string_equal(program_name(argv0, name, sizeof(name)), expected);
}

TEST(program_is_what_was_typed)
{
    assert_int_equal(unsetenv("CONTEND_PROGRAM"), 0);
    assert_named("contend", "contend");
    assert_named("../build/contend", "../build/contend");
    assert_named("/opt/my tools/contend", "'/opt/my tools/contend'");
    assert_named("./it's/contend", "'./it'\\''s/contend'");
    assert_named("./$(reboot)", "'./$(reboot)'");
}

/* The front door ./contend starts the program by another path and passes the typed name. */
TEST(program_is_the_front_door)
{
    assert_int_equal(setenv("CONTEND_PROGRAM", "./contend", 1), 0);
    assert_named("/src/build/release/contend", "./contend");
    assert_int_equal(setenv("CONTEND_PROGRAM", "", 1), 0);
    assert_named("build/contend", "build/contend");
    assert_int_equal(unsetenv("CONTEND_PROGRAM"), 0);
}

/* A name that does not fit after quoting, or has a line end, is replaced as a whole, never cut. */
TEST(program_that_cannot_be_pasted)
{
    char longest[100];
    memset(longest, 'a', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_named(longest, "contend");
    longest[1] = ' ';
    assert_named(longest, "contend");
    assert_named("a\nb", "contend");
    assert_named("", "contend");
    assert_named(NULL, "contend");
}

/* As in an installation whose bin is the folder of this test. */
TEST(program_finds_what_it_was_installed_with)
{
    char folder[3][4096], path[4096];
    const char *build = getenv("CONTEND_BUILD_DIR");
    if (!build)
        skip();
    put_text(folder[0], "%.4000s/share", build);
    put_text(folder[1], "%.4000s/share/contend", build);
    put_text(folder[2], "%.4000s/share/contend/nowhere_else", build);
    for (int i = 0; i < 3; i++)
        (void)mkdir(folder[i], 0700);
    int rc = program_share("nowhere_else", path, sizeof(path), NULL);
    for (int i = 3; i-- > 0;)
        (void)rmdir(folder[i]);
    assert_int_equal(rc, 0);
    assert_int_equal(program_share("nowhere_else", path, sizeof(path), NULL), -ENOENT);
}
