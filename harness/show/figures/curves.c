#include "harness/show/figures/curves.h"

#include "harness/lib/str.h"
#include "harness/show/figures/dat.h"

enum { LABEL_MOST = 60 };

void curves_put_axes(const struct curves *curves, FILE *out)
{
    struct names panels = curves->panels;
    if (!panels.n)
        (void)names_add(&panels, "");
    (void)fprintf(out, " %s %s %zu %zu %zu %d %d %d %.9g %.9g %.9g %.9g %.9g %d %d %d\n",
                  dat_text(curves->x.label, LABEL_MOST).quoted,
                  dat_text(curves->y.label, LABEL_MOST).quoted, panels.n, curves->names.n,
                  curves->n ? curves->n : curves->names.n, curves->x.log, curves->x.bytes,
                  curves->y.log, curves->x_ends[0], curves->x_ends[1], curves->y_ends[0],
                  curves->y_ends[1], curves->y.from, (int)curves->y.ticks, (int)curves->x.ticks,
                  curves->steps);
    names_put(&panels, "panels", out);
    names_put(&curves->names, "names", out);
    dat_block(CURVES_LINES, out);
    for (size_t i = 0; i < curves->names.n && !curves->n; i++)
        (void)fprintf(out, "%zu 0 %zu\n", i, i);
}

void curves_put_line(size_t line, FILE *out)
{
    const char *name = str_fmt("line_%zu", line);
    dat_block(name, "x y low high", out);
}

void curves_put_point(double x, double y, double low, double high, FILE *out)
{
    (void)fprintf(out, "%.9g %.9g %.9g %.9g\n", x, y, low, high);
}
