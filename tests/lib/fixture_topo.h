/* What tests of topologies load and inspect. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_TOPO_H
#define CONTEND_TESTS_LIB_FIXTURE_TOPO_H

#include "harness/machine/topo.h"

/* Loads a file or a synthetic description; returns what topo_load returns. */
int fixture_load_topo(const char *xml, struct topo *topo, struct err *err);

/* `gpus` is as for --gpus, or NULL. Fails the test if the machine cannot be loaded. */
struct topo fixture_topo(const char *xml, const char *gpus);

/* NULL if there is no such CPU. */
const struct topo_cpu *fixture_find_cpu(const struct topo *topo, unsigned os_cpu);

/* Fails unless the set equals this list, such as "0-3,8". */
void fixture_assert_list(const struct bitset *set, const char *expected);

#endif
