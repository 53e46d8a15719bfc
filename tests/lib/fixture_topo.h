/* What tests of topologies load and look at. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_TOPO_H
#define CONTEND_TESTS_LIB_FIXTURE_TOPO_H

#include "harness/machine/topo/topo.h"

/* Of a file or a description; what topo_load returns. */
int fixture_load_topo(const char *xml, struct topo *topo, struct err *err);

/* With GPUs as --gpus has them, or NULL; fails the test where there is no such machine. */
struct topo fixture_topo(const char *xml, const char *gpus);

/* NULL: there is no such CPU. */
const struct topo_cpu *fixture_find_cpu(const struct topo *topo, unsigned os_cpu);

/* Fails unless the set is this list, such as "0-3,8". */
void fixture_assert_list(const struct bitset *set, const char *expected);

#endif
