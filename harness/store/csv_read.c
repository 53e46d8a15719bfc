#include "harness/store/csv_read.h"

#include <errno.h>
#include <string.h>

#include "harness/base/text.h"

int csv_read_header(struct csv_reader *reader, const char *columns, struct err *err)
{
    size_t length = strlen(columns);
    reader->line = 1;
    if (strncmp(reader->at, columns, length) != 0 || reader->at[length] != '\n')
        return err_set(err, -EINVAL, "%s has other columns than this version writes", reader->name);
    reader->at += length + 1;
    return 0;
}

/* Takes the quotes from a cell and sets `at` behind it, at what ends it. */
static char *read_quoted(struct csv_reader *reader)
{
    char *cell = reader->at + 1, *to = cell, *from = cell;
    for (; *from && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    reader->at = from + (*from == '"');
    *to = '\0'; /* the quote at the end at the latest: `at` is behind it */
    return cell;
}

static char *read_plain(struct csv_reader *reader)
{
    char *cell = reader->at;
    reader->at += strcspn(cell, ",\n");
    return cell;
}

int csv_read(struct csv_reader *reader, char **cells, size_t n, struct err *err)
{
    if (!*reader->at)
        return 0;
    reader->line++;
    for (size_t i = 0; i < n; i++) {
        cells[i] = *reader->at == '"' ? read_quoted(reader) : read_plain(reader);
        char end = *reader->at;
        if (end != (i + 1 < n ? ',' : '\n'))
            return err_set(err, -EINVAL, "%s, record %u: not %zu cells", reader->name, reader->line,
                           n);
        *reader->at++ = '\0';
        (void)text_one_line(cells[i]);
    }
    return 1;
}
