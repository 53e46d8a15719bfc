/* The exit code of several parts. */
#include "harness/cmd/common/cmd.h"
#include "tests/lib/unit.h"

TEST(cmd_inconclusive_hides_no_other_code)
{
    static const int codes[] = {EXIT_GOOD,  EXIT_INCONCLUSIVE, EXIT_VERDICT,
                                EXIT_USAGE, EXIT_NOT_RUN,      EXIT_INTERRUPTED};
    const size_t n = sizeof(codes) / sizeof(codes[0]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            assert_int_equal(cmd_worse(codes[i], codes[j]), codes[i > j ? i : j]);
}
