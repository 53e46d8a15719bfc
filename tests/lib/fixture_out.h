/* For tests of figures: they are drawn in fixture_dir, and looked at. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_OUT_H
#define CONTEND_TESTS_LIB_FIXTURE_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/arms/result.h"
#include "tests/lib/fixture_scans.h"

/* False, and said on stderr, where gnuplot is not installed: then there is nothing to test. */
bool fixture_has_gnuplot(void);

/*
 * In place of fixture_make_dir and fixture_remove_dir: in between gnuplot makes no PNG, which takes
 * most of its time. For what the SVG shows as well.
 */
int fixture_make_svg_dir(void **state);
int fixture_remove_svg_dir(void **state);

/* The figures of a result, of scans by fixture_scans_make; those of an earlier one are gone. */
void fixture_draw(const struct result *result, const char *host);
void fixture_draw_scans(const struct fixture_scan_machine *machine, const char *only);

/* The whole file plots/NAME.SUFFIX with a 0 behind it; NULL when it is not there. Free it. */
unsigned char *fixture_read_plot(const char *name, const char *suffix, size_t *size);

/* Fail the running test when the SVG does not have that text, or a picture is not there; the width
 * is that of the PNG, where there is one. */
void fixture_assert_svg_has(const char *figure, const char *text);
void fixture_assert_drawn(const char *figure, unsigned width);

#endif
