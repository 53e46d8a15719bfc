/* harness/show/figures/figures.c: redraws figures from .dat files, which another version or another
 * user may have written. */
#include <fcntl.h>
#include <sys/stat.h>

#include "harness/engine/contract/figure.h"
#include "harness/show/figures/figures.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_out.h"
#include "tests/lib/fixture_scans.h"
#include "tests/lib/unit.h"

static void note(void *arg, const char *name)
{
    char *names = arg;
    (void)snprintf(names + strlen(names), 200 - strlen(names), "%s ", name);
}

#define HEAT_LINE "# contend heat_map\n"
static const char heat_data[] =
    HEAT_LINE "title subtitle footnote lines low high repeats colour_label x_label y_label columns "
              "counts\n"
              "\"title\" \"how\" \"\" 2 0.9 1.04 1 \"GB/s\" \"x\" \"y\" 2 0\n\n\n"
              "# ticks\nplace column line\n0 \"5\" \"5\"\n1 \"7\" \"7\"\n\n\n"
              "# cells\ncolumn line value text\n0 0 2 \"2\"\n\n\n# matrix\n2 3\n9 1\n";

/* A figure of an unknown benchmark is drawn from its data alone, and is removed like the others. */
TEST_IN_DIR(redraw_figure_of_another_version)
{
    char names[200] = "";
    fixture_draw_scans(&fixture_server, "numa_matrix");
    int fd = openat(fixture_dir_fd, "plots", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fixture_put("/plots/later_2.dat", heat_data);
    fixture_put("/plots/contend-2147483646-0.tmp", HEAT_LINE); /* of a writer that was killed */
    assert_int_equal(unlinkat(fd, "numa_latency.svg", 0), 0);
    assert_int_equal(unlinkat(fd, "numa_bandwidth.dat", 0), 0);
    assert_int_equal(figures_redraw(fd, NULL, note, names, NULL), 0);
    assert_string_equal(names, "later_2 numa_latency ");
    fixture_assert_drawn("numa_latency", 1350);
    fixture_assert_drawn("later_2", 1350);
    fixture_assert_svg_has("later_2", ">7<");
    fixture_assert_svg_has("later_2",
                           ">0.92<"); /* a tick of the colour scale, not rounded to 0.9 */
    figures_remove(fixture_dir_fd);
    assert_int_equal(faccessat(fd, "later_2.svg", F_OK, 0), -1);
    assert_int_equal(faccessat(fd, "contend-2147483646-0.tmp", F_OK, 0), -1);
    assert_int_equal(faccessat(fd, "numa_bandwidth.svg", F_OK, 0),
                     0); /* a figure without data stays */
    (void)close(fd);
}

static void put_plot(const char *name, const char *text)
{
    char path[100];
    put_text(path, "/plots/%s", name);
    fixture_put(path, text);
}

/* Files with names that contend does not use are neither passed to gnuplot nor removed. */
TEST_IN_DIR(redraw_leaves_alone_what_is_not_ours)
{
    static const char *const names[] = {
        "a'.system('touch pwned').'.dat",
        "a\"`touch pwned`.dat",
        "a\nsystem 'touch pwned'.dat",
        "a b.dat",
        "Upper.dat",
        "a.b.dat",
        "heat.data",
        ".dat",
        "a_name_that_is_longer_than_that_of_any_figure_of_ours.dat"};
    static const char *const texts[] = {"",
                                        "# contend",
                                        "# contend heat_map",
                                        "# contend heat_map2\n",
                                        "# contend common\n",
                                        " \"title\" \"how\" \"\" 2 0.9 1.04 1\n"};
    char drawn[200] = "";
    assert_int_equal(mkdirat(fixture_dir_fd, "plots", 0777), 0);
    int fd = openat(fixture_dir_fd, "plots", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        put_plot(names[i], heat_data);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        put_plot((char[]){(char)('a' + (int)i), '.', 'd', 'a', 't', 0}, texts[i]);
    assert_int_equal(symlinkat("Upper.dat", fd, "link.dat"), 0);
    assert_int_equal(mkfifoat(fd, "fifo.dat", 0666), 0);
    assert_int_equal(mkdirat(fd, "directory.dat", 0777), 0);
    assert_int_equal(figures_redraw(fd, NULL, note, drawn, NULL), -ENODATA);
    figures_remove(fixture_dir_fd);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(faccessat(fd, names[i], F_OK, 0), 0);
    assert_int_equal(faccessat(fd, "fifo.dat", F_OK, 0), 0);
    assert_int_equal(faccessat(fd, "f.dat", F_OK, 0), 0);
    assert_int_equal(faccessat(fd, "pwned", F_OK, 0), -1);
    (void)close(fd);
}

/* Replaces every quoted text in a .dat file by `text`. */
static void put_text_everywhere(const char *figure, const char *text)
{
    char name[FIGURE_NAME_MAX + 8];
    size_t size, used = 0;
    FREED char *data = (char *)fixture_read_plot(figure, "dat", &size);
    assert_non_null(data);
    FREED char *changed = calloc(size + 1, strlen(text) + 1);
    assert_non_null(changed);
    bool quoted = false;
    for (const char *at = data; *at; at++) {
        if (!quoted)
            changed[used++] = *at;
        if (*at != '"')
            continue;
        if (quoted)
            changed[used++] = '"';
        quoted = !quoted;
        for (size_t i = 0; quoted && at[1] != '"' && text[i]; i++)
            changed[used++] = text[i];
    }
    put_text(name, "%s.dat", figure);
    put_plot(name, changed);
}

/* A '%' in the data is never a format: in a title, on an axis, at a tick, in a key, in a cell. */
TEST_WITHIN(redraw_makes_no_format_of_text, fixture_make_svg_dir, fixture_remove_svg_dir)
{
    static const char *const figures[] = {"bandwidth", "latency_curve", "cache_thrash",
                                          "loaded_latency", "numa_latency"};
    char names[200] = "";
    fixture_draw_scans(&fixture_server,
                       "mem_bandwidth mem_latency cache_thrash loaded_latency numa_matrix");
    int fd = openat(fixture_dir_fd, "plots", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        put_text_everywhere(figures[i], "%s%n%d%99999999f %*d");
    assert_int_equal(figures_redraw(fd, NULL, note, names, NULL), 0);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        size_t size;
        FREED char *svg = (char *)fixture_read_plot(figures[i], "svg", &size);
        assert_non_null(svg);
        size_t texts = 0;
        for (const char *at = svg; (at = strstr(at, ">%s%n%d%99999999f %*d<")); at++)
            texts++;
        /* Title, subtitle, footnote, both axes, and the texts at ticks or in the key. */
        assert_true(texts > 5);
    }
    (void)close(fd);
}

NEEDS_GNUPLOT
