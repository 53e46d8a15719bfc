/* Texts of benchmarks in figures: only letters that figures can show; others would appear as
 * '_'. */
#include "bench/registry.h"
#include "harness/show/figures/dat.h"
#include "tests/lib/unit.h"

static void assert_shown(const char *bench, const char *text)
{
    char quoted[DAT_TEXT_MOST + 3];
    if (!text)
        return;
    put_text(quoted, "\"%s\"", text);
    if (strcmp(dat_text(text, DAT_TEXT_MOST).quoted, quoted))
        fail_msg("%s: '%s' becomes '%s'", bench, text, dat_text(text, DAT_TEXT_MOST).quoted);
}

TEST(texts_of_figures_are_shown_as_they_are)
{
    size_t figures = 0;
    for (const struct bench *const *at = bench_registry; *at; at++) {
        const struct bench *bench = *at;
        for (const struct bench_figure *f = bench->figures; f && f->name; f++, figures++) {
            assert_shown(bench->name, f->title);
            assert_shown(bench->name, f->note);
            assert_shown(bench->name, f->how);
            assert_shown(bench->name, f->x.label);
            assert_shown(bench->name, f->y.label);
        }
        for (unsigned d = 1; bench->dims && bench->dims[d].name; d++) {
            const struct bench_dim *dim = &bench->dims[d];
            assert_shown(bench->name, dim->unit);
            assert_shown(bench->name, dim->special.text);
            for (unsigned i = 0; dim->labels_long && dim->labels[i]; i++)
                assert_shown(bench->name, dim->labels_long[i]);
        }
    }
    assert_true(figures > 10);
}
