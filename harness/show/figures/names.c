#include "harness/show/figures/names.h"

#include <string.h>

#include "harness/lib/str.h"
#include "harness/show/figures/dat.h"

/* Characters of a name that fit into the legend. */
enum { SHOWN_MOST = 48 };

size_t names_add(struct names *names, const char *text)
{
    if (names->n == NAMES_MOST)
        return NAMES_MOST;
    names->name[names->n] = str_fmt("%s", text);
    return names->n++;
}

size_t names_place(struct names *names, const char *text)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], text) == 0)
            return i;
    return names_add(names, text);
}

void names_put(const struct names *names, const char *block, FILE *out)
{
    dat_block(block, "number name", out);
    for (size_t i = 0; i < names->n; i++)
        (void)fprintf(out, "%zu %s\n", i, dat_text(names->name[i], SHOWN_MOST).quoted);
}
