/* What launchers say in the environment. */
#include "harness/job_env.h"

#include <stddef.h>
#include <string.h>

#include "tests/cmocka_all.h"
