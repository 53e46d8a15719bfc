#include "harness/lib/similar.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "harness/lib/text.h"

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned similar_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    /* Rows of the table for the last three characters of `a`: a swap needs the row two back. */
    unsigned rows[3][SIMILAR_NAME_MAX];
    if (a_length >= SIMILAR_NAME_MAX || b_length >= SIMILAR_NAME_MAX)
        return SIMILAR_NAME_MAX;
    for (unsigned j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            bool equal = same(a[i - 1], b[j - 1]);
            row[j] = least(above[j - 1] + !equal, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

/* Mistakes allowed in a word of that length. */
static unsigned most_mistakes(size_t length)
{
    size_t allowed = (length + 1) / 3;
    return length < 2 ? 0 : allowed > 3 ? 3 : (unsigned)allowed;
}

struct similar similar_to(const char *typed, size_t length)
{
    return (struct similar){
        .typed = typed, .length = length, .distance = 1 + most_mistakes(length)};
}

void similar_offer(struct similar *near, const char *name)
{
    unsigned distance = similar_distance(near->typed, near->length, name, strlen(name));
    if (near->length >= 2 && strncasecmp(near->typed, name, near->length) == 0)
        distance = least(distance, 1);
    size_t length = strlen(name);
    if (length >= 3 && length < near->length && strncasecmp(near->typed, name, length) == 0)
        distance = least(distance, most_mistakes(near->length)); /* --output typed for --out */
    for (size_t at = 1; near->length >= 4 && at + near->length <= length; at++)
        if (strncasecmp(near->typed, name + at, near->length) == 0)
            distance = least(distance, most_mistakes(near->length)); /* stream for gpu_stream */
    if (distance < near->distance) {
        near->distance = distance;
        near->name = name;
    }
}

const char *similar_hint(const struct similar *near, const char *prefix)
{
    return near->name ? str_fmt("; did you mean '%s%s'?", prefix, near->name) : ";";
}

int similar_refuse(const char *option, const char *value, size_t length, const char *const *known,
                   struct err *err)
{
    const char *valid = "";
    struct similar near = similar_to(value, length);
    for (; *known; known++) {
        str_add(&valid, ", ", "%s", *known);
        similar_offer(&near, *known);
    }
    return err_set(err, -EINVAL, "%s: invalid value '%.*s'%s valid: %s", option,
                   (int)(length < 60 ? length : 60), value, similar_hint(&near, ""), valid);
}

static bool is_known(const char *word, size_t length, const char *const *known)
{
    while (*known && (strlen(*known) != length || strncmp(*known, word, length) != 0))
        known++;
    return *known;
}

int similar_check_list(const char *option, const char *list, const char *const *known,
                       struct err *err)
{
    size_t length;
    for (const char *at = list; at; at = at[length] ? at + length + 1 : NULL) {
        length = strcspn(at, ",");
        if (!is_known(at, length, known))
            return similar_refuse(option, at, length, known, err);
    }
    return 0;
}
