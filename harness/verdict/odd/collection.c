#include "harness/verdict/odd/collection.h"

#include <stdio.h>
#include <string.h>

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

char *collection_say(const struct collection *collection, char *buf, size_t size)
{
    const char *between = ":";
    (void)snprintf(buf, size, "%zu scenario%s", collection->n, collection->n == 1 ? "" : "s");
    static const enum collected_end order[] = {COLLECTED_MEASURED,    COLLECTED_SKIPPED,
                                               COLLECTED_FAILED,      COLLECTED_INTERRUPTED,
                                               COLLECTED_NOT_REACHED, COLLECTED_ABSENT};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        size_t used = strlen(buf), n = collection_count(collection, order[i]);
        if (!n)
            continue;
        (void)snprintf(buf + used, size - used, "%s %zu %s", between, n, collected_name(order[i]));
        between = ",";
    }
    return buf;
}

char *collected_say(const struct collected *collected, char *buf, size_t size)
{
    char rounds[32] = "";
    buf[0] = '\0';
    if (!collected->rounds || collected->end == COLLECTED_SKIPPED)
        return buf;
    if (collected->rounds != collected->rounds_planned)
        text_set(rounds, " of %u", collected->rounds_planned);
    (void)snprintf(buf, size, "%u%s round%s", collected->rounds, rounds,
                   collected->rounds == 1 && !rounds[0] ? "" : "s");
    size_t used = strlen(buf);
    if (collected->took_s > 0)
        (void)snprintf(buf + used, size - used, ", %.0f s", collected->took_s);
    used = strlen(buf);
    if (collected->bad)
        (void)snprintf(buf + used, size - used, ", %zu wrong", collected->bad);
    used = strlen(buf);
    if (collected->doubts)
        (void)snprintf(buf + used, size - used, ", %zu in doubt", collected->doubts);
    return buf;
}
