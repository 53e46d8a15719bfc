#include "bench/os/working_set.h"

const size_t working_set_sizes[WORKING_SETS] = {0, 16 << 10, 256 << 10, WORKING_SET_MOST};

const char *const working_set_names[] = {"all", "0", "16K", "256K", "4M", NULL};
