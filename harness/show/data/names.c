#include "harness/show/data/names.h"

#include <string.h>

#include "harness/show/data/dat.h"

/* Characters of a name that its place in a legend has room for. */
enum { SHOWN_MOST = 48 };

size_t names_add(struct names *names, const char *text)
{
    if (names->n == NAMES_MOST)
        return NAMES_MOST;
    (void)snprintf(names->name[names->n], NAMES_TEXT, "%s", text);
    return names->n++;
}

size_t names_place(struct names *names, const char *text)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->name[i], text) == 0)
            return i;
    return names_add(names, text);
}

void names_put(const struct names *names, FILE *out)
{
    dat_start_block(out, "-1 \"\"");
    for (size_t i = 0; i < names->n; i++) {
        (void)fprintf(out, "%zu", i);
        dat_put_text(out, names->name[i], SHOWN_MOST);
        (void)fputc('\n', out);
    }
    dat_end_block(out);
}

void names_put_lines(const struct names *names, FILE *out)
{
    struct names panels = {0};
    (void)names_add(&panels, "");
    names_put(&panels, out);
    names_put(names, out);
    dat_start_block(out, "-1 0 0");
    for (size_t i = 0; i < names->n; i++)
        (void)fprintf(out, "%zu 0 %zu\n", i, i);
    dat_end_block(out);
}
