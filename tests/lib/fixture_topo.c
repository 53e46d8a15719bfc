#include "tests/lib/fixture_topo.h"
#include "tests/lib/unit.h"

int fixture_load_topo(const char *xml, struct topo *topo, struct err *err)
{
    struct topo_options options = {.xml = xml};
    return topo_load(&options, topo, err);
}

struct topo fixture_topo(const char *xml, const char *gpus)
{
    const struct topo_options options = {.xml = xml, .fake_gpus = gpus};
    struct topo topo;
    struct err err = {0};
    if (topo_load(&options, &topo, &err))
        fail_msg("%s: %s", xml, err.msg);
    return topo;
}

const struct topo_cpu *fixture_find_cpu(const struct topo *topo, unsigned os_cpu)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].os_cpu == os_cpu)
            return &topo->cpus[i];
    return NULL;
}

void fixture_assert_list(const struct bitset *set, const char *expected)
{
    assert_string_equal(bitset_format(set), expected);
}
