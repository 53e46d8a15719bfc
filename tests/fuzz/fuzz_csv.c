/* Any text as a CSV file: it is refused, or read to its end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_reader reader;
    struct err err = {0};
    char *cells[3], *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    int rc = csv_read_header(&reader, "a.csv", text, size, "name,value,count", &err);
    rc = rc ? rc : csv_read(&reader, cells, 3, &err);
    while (rc == 1) {
        double value;
        unsigned long long count;
        size_t length = strlen(cells[0]);
        if (length > size || csv_number(&reader, "value", cells[1], &value, &err) ||
            csv_count(&reader, "count", cells[2], 1000, &count, &err))
            break;
        rc = csv_read(&reader, cells, 3, &err);
    }
    if (rc < 0 && (err.code != rc || !err.msg[0]))
        abort(); /* refused without a word */
    free(text);
    return 0;
}
