/* Kinds of cores that count as one. */
#include "harness/machine/topo/topo_kinds.h"

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
        {"one", 1, {{0}}, "0"},
        {"two designs by capacity",
         5,
         {{.capacity = 718},
          {.capacity = 731},
          {.capacity = 997},
          {.capacity = 1017},
          {.capacity = 1024}},
         "00111"},
        {"a capacity counts, not its design or clock",
         2,
         {{.capacity = 1000, .max_mhz = 2000, .design = "a"},
          {.capacity = 1024, .max_mhz = 3000, .design = "b"}},
         "00"},
        {"no chain of steps", 3, {{.capacity = 850}, {.capacity = 930}, {.capacity = 1024}}, "011"},
        {"three kinds", 3, {{.capacity = 300}, {.capacity = 700}, {.capacity = 1024}}, "012"},
        {"the best cores of one design",
         2,
         {{.max_mhz = 5700, .base_mhz = 3200, .design = "IntelCore"},
          {.max_mhz = 6000, .base_mhz = 3200, .design = "IntelCore"}},
         "00"},
        {"equal clocks, two designs",
         2,
         {{.max_mhz = 4000, .design = "IntelAtom"}, {.max_mhz = 4200, .design = "IntelCore"}},
         "01"},
        {"cores with a higher base clock",
         2,
         {{.max_mhz = 3900, .base_mhz = 2100}, {.max_mhz = 3900, .base_mhz = 2700}},
         "01"},
        {"ranked, and no number says why", 2, {{0}, {0}}, "01"},
        {"one capacity is unknown", 2, {{.max_mhz = 2000}, {.capacity = 1024}}, "01"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int merged[MOST];
        char found[MOST + 1] = "";
        unsigned kinds = topo_kinds_merge(cases[i].kinds, cases[i].n, merged);
        for (unsigned k = 0; k < cases[i].n; k++)
            found[k] = (char)('0' + merged[k]);
        if (strcmp(found, cases[i].merged) != 0)
            fail_msg("%s: '%s', not '%s'", cases[i].what, found, cases[i].merged);
        assert_int_equal(kinds, (unsigned)merged[cases[i].n - 1] + 1);
    }
}
