#include "harness/verdict/odd/collection.h"

#include <stdio.h>

#include "harness/lib/base/text.h"

const char *collected_name(enum collected_end end)
{
    static const char *const names[COLLECTED_ENDS] = {"not reached", "measured",    "skipped",
                                                      "failed",      "interrupted", "no result"};
    return names[end];
}

size_t collection_count(const struct collection *collection, enum collected_end end)
{
    size_t n = 0;
    for (size_t i = 0; i < collection->n; i++)
        n += collection->all[i].end == end;
    return n;
}

void collected_judge(struct collected *collected, const struct findings *findings)
{
    const struct finding *whole = NULL;
    for (size_t i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->all[i];
        collected->doubts += finding->severity == FINDING_DOUBT;
        collected->bad += finding->severity == FINDING_BAD;
        if (!finding->subject[0] && (!whole || finding->severity < whole->severity))
            whole = finding;
    }
    text_set(collected->sentence, "%s", whole ? whole->sentence : "");
}

char *collection_format(const struct collection *collection, char *buf, size_t size)
{
    static const enum collected_end order[] = {COLLECTED_MEASURED,    COLLECTED_SKIPPED,
                                               COLLECTED_FAILED,      COLLECTED_INTERRUPTED,
                                               COLLECTED_NOT_REACHED, COLLECTED_ABSENT};
    const char *between = ": ";
    (void)snprintf(buf, size, "%zu scenario%s", collection->n, collection->n == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        size_t n = collection_count(collection, order[i]);
        if (!n)
            continue;
        text_append(buf, size, between, "%zu %s", n, collected_name(order[i]));
        between = ", ";
    }
    return buf;
}

char *collected_format(const struct collected *collected, char *buf, size_t size)
{
    bool all = collected->rounds == collected->rounds_planned;
    buf[0] = '\0';
    if (!collected->rounds || collected->end == COLLECTED_SKIPPED)
        return buf;
    (void)snprintf(buf, size, "%u", collected->rounds);
    if (!all)
        text_append(buf, size, " ", "of %u", collected->rounds_planned);
    text_append(buf, size, " ", "round%s", collected->rounds == 1 && all ? "" : "s");
    if (collected->took_s > 0)
        text_append(buf, size, ", ", "%.0f s", collected->took_s);
    if (collected->bad)
        text_append(buf, size, ", ", "%zu wrong", collected->bad);
    if (collected->doubts)
        text_append(buf, size, ", ", "%zu in doubt", collected->doubts);
    return buf;
}
