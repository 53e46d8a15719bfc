#include "harness/verdict/collection.h"

#include <stdio.h>

#include "harness/lib/str.h"
#include "harness/lib/text.h"

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

const char *collection_format(const struct collection *collection)
{
    static const enum collected_end order[] = {COLLECTED_MEASURED,    COLLECTED_SKIPPED,
                                               COLLECTED_FAILED,      COLLECTED_INTERRUPTED,
                                               COLLECTED_NOT_REACHED, COLLECTED_ABSENT};
    const char *between = ": ";
    const char *text = str_fmt("%zu scenario%s", collection->n, collection->n == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        size_t n = collection_count(collection, order[i]);
        if (!n)
            continue;
        str_add(&text, between, "%zu %s", n, collected_name(order[i]));
        between = ", ";
    }
    return text;
}

const char *collected_format(const struct collected *collected)
{
    bool all = collected->rounds == collected->rounds_planned;
    const char *text = "";
    if (!collected->rounds || collected->end == COLLECTED_SKIPPED)
        return text;
    text = str_fmt("%u", collected->rounds);
    if (!all)
        str_add(&text, " ", "of %u", collected->rounds_planned);
    str_add(&text, " ", "round%s", collected->rounds == 1 && all ? "" : "s");
    if (collected->took_s > 0)
        str_add(&text, ", ", "%.0f s", collected->took_s);
    if (collected->bad)
        str_add(&text, ", ", "%zu wrong", collected->bad);
    if (collected->doubts)
        str_add(&text, ", ", "%zu in doubt", collected->doubts);
    return text;
}
