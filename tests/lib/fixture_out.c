#include "tests/lib/fixture_out.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "harness/show/figures/figures.h"
#include "harness/show/figures/gnuplot.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

bool fixture_has_gnuplot(void)
{
    int rc = gnuplot_run(-1, NULL, 0, 0, NULL, NULL);
    if (rc == -ENOENT)
        (void)fputs("SKIP: needs gnuplot\n", stderr);
    return rc != -ENOENT;
}

static char *whole_path; /* PATH before the test replaced gnuplot */

int fixture_make_svg_dir(void **state)
{
    static const char script[] = "#!/bin/sh\n"
                                 "PATH=${PATH#*:}\n"
                                 "sed 's/^kinds = .*/kinds = \"svg\"/' | gnuplot \"$@\"\n";
    char path[4096];
    const char *before = getenv("PATH");
    if (fixture_make_dir(state) || !before)
        return -1;
    fixture_put("/bin/gnuplot", script);
    whole_path = strdup(before);
    put_text(path, "%s/bin:%s", fixture_dir, before);
    return !whole_path || fchmodat(fixture_dir_fd, "bin/gnuplot", 0700, 0) ||
           setenv("PATH", path, 1);
}

int fixture_remove_svg_dir(void **state)
{
    int rc = setenv("PATH", whole_path, 1);
    free(whole_path);
    whole_path = NULL;
    return fixture_remove_dir(state) || rc;
}

void fixture_draw(const struct result *result, const char *host)
{
    AUTO(analysis) analysis;
    struct err err = {0};
    assert_int_equal(analysis_make(result, &analysis, &err), 0);
    figures_remove(fixture_dir_fd); /* as a run does if an earlier run left figures */
    if (figures_draw(&analysis, host, true, fixture_dir_fd, NULL, &err))
        fail_msg("figures_draw: %s", err.msg);
}

void fixture_draw_scans(const struct fixture_scan_machine *machine, const char *only)
{
    ENDED_BY(fixture_result_free) struct result result;
    fixture_scans_make(machine, only, &result);
    fixture_draw(&result, "test machine");
}

unsigned char *fixture_read_plot(const char *name, const char *suffix, size_t *size)
{
    char path[128];
    put_text(path, "plots/%s.%s", name, suffix);
    return (unsigned char *)fixture_read(path, size);
}

void fixture_assert_svg_has(const char *figure, const char *text)
{
    size_t size;
    FREED char *svg = (char *)fixture_read_plot(figure, "svg", &size);
    assert_non_null(svg);
    assert_has(svg, text);
}

static unsigned big_endian(const unsigned char *at)
{
    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

/* True if `at`, an element of a text, has its text between x 0 and the width of a phone's figure.
 */
static bool fits_phone(const char *at)
{
    enum { WIDTH = 400, SLACK = 12 };
    double x, y, size;
    char anchor[8], text[200];
    int end = 0;
    if (sscanf(at, "<g transform=\"translate(%lf,%lf)\"%n", &x, &y, &end) != 2 || !end ||
        sscanf(strstr(at, "font-size="), "font-size=\"%lf\" text-anchor=\"%7[a-z]", &size,
               anchor) != 2 ||
        sscanf(strstr(at, "<text>"), "<text>%199[^<]", text) != 1)
        return true;                                   /* rotated, or empty */
    double width = 0.55 * size * (double)strlen(text); /* as wide as letters of DejaVu Sans are */
    double left = strcmp(anchor, "start") == 0 ? x
                  : strcmp(anchor, "end") == 0 ? x - width
                                               : x - width / 2;
    return left > -SLACK && left + width < WIDTH + SLACK;
}

static void assert_fits_phone(const char *figure)
{
    size_t size;
    FREED char *svg = (char *)fixture_read_plot(figure, "narrow.svg", &size);
    assert_non_null(svg);
    for (const char *at = svg; (at = strstr(at, "<g transform=\"translate(")); at++)
        if (!fits_phone(at))
            fail_msg("%s.narrow.svg: text leaves the picture: %.300s", figure, at);
}

void fixture_assert_drawn(const char *figure, unsigned width)
{
    size_t size;
    fixture_assert_svg_has(figure, "</svg>");
    assert_fits_phone(figure);
    if (whole_path)
        return;
    unsigned char *png = fixture_read_plot(figure, "png", &size);
    assert_non_null(png);
    assert_true(size > 24);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(big_endian(png + 16), width);
    assert_in_range(big_endian(png + 20), 400, 1500);
    free(png);
}
