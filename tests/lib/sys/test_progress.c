/* The progress bar as a line, and what remains of it on a narrow terminal. */
#include "harness/lib/sys/log.h"
#include "tests/lib/unit.h"

TEST(progress_gives_way_step_by_step)
{
    static const struct {
        unsigned columns;
        const char *line;
    } cases[] = {
        {80, "[============            ] 6/12  round 1: partition, 2 workers  45 s left"},
        {200, "[============            ] 6/12  round 1: partition, 2 workers  45 s left"},
        {74, "[============            ] 6/12  round 1: partition, 2 workers  45 s left"},
        {73, "[===========            ] 6/12  round 1: partition, 2 workers  45 s left"},
        {60, "[=====     ] 6/12  round 1: partition, 2 workers  45 s left"},
        {58, "[====    ] 6/12  round 1: partition, 2 workers  45 s left"},
        {57, "6/12  round 1: partition, 2 workers  45 s left"},
        {40, "6/12  round 1: partition, 2   45 s left"},
        {18, "6/12  45 s left"},
        {15, "6/12  45 s lef"},
        {1, ""},
    };
    const struct progress progress = {"round 1: partition, 2 workers", 6, 12, 45};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[160];
        assert_string_equal(progress_format(&progress, cases[i].columns, line, sizeof(line)),
                            cases[i].line);
    }
}

TEST(progress_never_fills_the_last_column)
{
    static const struct progress several[] = {
        {"", 0, 0, 0},
        {"mem_latency", 0, 1, 15},
        {"a label that is longer than any that a run has ever had", 5, 5, 0},
        {"round 1000: gpu-local, 8192 workers alone", SIZE_MAX, SIZE_MAX, 1e30},
    };
    for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++)
        for (unsigned columns = 0; columns < 300; columns++) {
            char line[160];
            size_t used = strlen(progress_format(&several[i], columns, line, sizeof(line)));
            assert_true(used < (columns ? columns : 160));
        }
}
