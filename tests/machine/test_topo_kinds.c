/* Kinds of cores that count as one. */
#include "harness/machine/topo.h"

#include "tests/lib/unit.h"

TEST(topo_kinds_within_ten_percent_are_one)
{
    enum { MOST = 5 };
    static const struct {
        const char *what;
        unsigned n;
        struct topo_kind kinds[MOST];
        const char *merged;
    } cases[] = {
        ENTRY("one", 1, {{0}}, "0"),
        ENTRY("two designs by capacity", 5,
              ENTRY({718, 0, 0, 0, ""}, {731, 0, 0, 1, ""}, {997, 0, 0, 2, ""}, {1017, 0, 0, 3, ""},
                    {1024, 0, 0, 4, ""}),
              "00111"),
        ENTRY("in another order, and not ranked by hwloc", 5,
              ENTRY({1017, 3900, 0, -1, ""}, {718, 2808, 0, -1, ""}, {1024, 3900, 0, -1, ""},
                    {731, 2808, 0, -1, ""}, {997, 3900, 0, -1, ""}),
              "10101"),
        ENTRY("a capacity counts, not its design or clock", 2,
              {{1000, 2000, 0, 0, "a"}, {1024, 3000, 0, 1, "b"}}, "00"),
        ENTRY("no chain of steps", 3, {{850, 0, 0, 0, ""}, {930, 0, 0, 1, ""}, {1024, 0, 0, 2, ""}},
              "011"),
        ENTRY("three kinds", 3, {{300, 0, 0, 0, ""}, {700, 0, 0, 1, ""}, {1024, 0, 0, 2, ""}},
              "012"),
        ENTRY("the best cores of one design", 2,
              {{0, 5700, 3200, 0, "IntelCore"}, {0, 6000, 3200, 1, "IntelCore"}}, "00"),
        ENTRY("equal clocks, two designs", 2,
              {{0, 4000, 0, 0, "IntelAtom"}, {0, 4200, 0, 1, "IntelCore"}}, "01"),
        ENTRY("hwloc's rank comes before the clock", 2,
              {{0, 4200, 0, 1, "IntelCore"}, {0, 4400, 0, 0, "IntelAtom"}}, "10"),
        ENTRY("cores with a higher base clock", 2,
              {{0, 3900, 2700, -1, ""}, {0, 3900, 2100, -1, ""}}, "10"),
        ENTRY("ranked, and no number says why", 2, {{0, 0, 0, 0, ""}, {0, 0, 0, 1, ""}}, "01"),
        ENTRY("neither ranked nor a number", 2, {{0, 0, 0, -1, "a"}, {0, 0, 0, -1, "b"}}, "00"),
        ENTRY("one capacity is unknown", 2, {{0, 2000, 0, 0, ""}, {1024, 0, 0, 1, ""}}, "01"),
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int merged[MOST];
        char found[MOST + 1] = "";
        unsigned kinds = topo_kinds_merge(cases[i].kinds, cases[i].n, merged);
        for (unsigned k = 0; k < cases[i].n; k++)
            found[k] = (char)('0' + merged[k]);
        if (strcmp(found, cases[i].merged) != 0)
            fail_msg("%s: '%s', not '%s'", cases[i].what, found, cases[i].merged);
        for (unsigned k = 0; k < cases[i].n; k++)
            assert_true(merged[k] < (int)kinds);
    }
}
