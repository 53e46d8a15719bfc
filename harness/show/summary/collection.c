#include "harness/show/summary/collection.h"

#include <string.h>

#include "harness/lib/base/text.h"

static int width_of(const struct collection *collection)
{
    size_t width = 8;
    for (size_t i = 0; i < collection->n; i++) {
        size_t length = strlen(collection->all[i].scenario);
        width = length > width ? length : width;
    }
    return (int)width;
}

void collection_print(const struct collection *collection, FILE *out, bool color)
{
    char text[200], numbers[120];
    int width = width_of(collection);
    (void)fprintf(out, "%s%s%s\n\n", color ? "\033[1m" : "",
                  collection_say(collection, text, sizeof(text)), color ? "\033[0m" : "");
    for (size_t i = 0; i < collection->n; i++) {
        const struct collected *one = &collection->all[i];
        (void)collected_say(one, numbers, sizeof(numbers));
        (void)fprintf(out, "%-*s  %-11s  ", width, one->scenario, collected_name(one->end));
        if (numbers[0])
            (void)fprintf(out, "%s\n", numbers);
        if (numbers[0] && one->sentence[0])
            (void)fprintf(out, "%*s", width + 2, "");
        if (one->sentence[0])
            text_wrap(one->sentence, numbers[0] ? width + 2 : width + 15, width + 2, out);
        else if (!numbers[0])
            (void)fputc('\n', out);
    }
}
