/* For tests of figures, which are drawn in fixture_dir and then read. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_OUT_H
#define CONTEND_TESTS_LIB_FIXTURE_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/result.h"
#include "tests/lib/fixture_scans.h"

/* False without gnuplot, which it reports on stderr: the test then has nothing to check. */
bool fixture_has_gnuplot(void);
#define NEEDS_GNUPLOT                                                                              \
    BEFORE_TESTS                                                                                   \
    {                                                                                              \
        return fixture_has_gnuplot() ? 0 : UNIT_SKIPPED;                                           \
    }

/*
 * Replace fixture_make_dir and fixture_remove_dir where the SVG shows enough: in between, gnuplot
 * makes no PNG, which takes most of its time.
 */
int fixture_make_svg_dir(void **state);
int fixture_remove_svg_dir(void **state);

/* Draw the figures of a result, or of scans by fixture_scans_make. Earlier figures are removed. */
void fixture_draw(const struct result *result, const char *host);
void fixture_draw_scans(const struct fixture_scan_machine *machine, const char *only);

/* The whole file plots/NAME.SUFFIX with a terminating 0; NULL if it does not exist. Free it. */
unsigned char *fixture_read_plot(const char *name, const char *suffix, size_t *size);

/* Fail the running test unless the SVG has that text, or unless all pictures exist. `width` is that
 * of the PNG, if there is one. */
void fixture_assert_svg_has(const char *figure, const char *text);
void fixture_assert_drawn(const char *figure, unsigned width);

#endif
