#include "harness/show/report/markdown_collection.h"

#include "harness/show/report/escape.h"

void markdown_print_collection(const struct collection *collection, const char *path, FILE *out)
{
    char text[300];
    (void)fprintf(out, "### contend: %s\n\n| scenario | | | |\n|---|---|---|---|\n",
                  collection_say(collection, text, sizeof(text)));
    for (size_t i = 0; i < collection->n; i++) {
        const struct collected *one = &collection->all[i];
        (void)fputs("| ", out);
        escape_markdown_code(one->scenario, out);
        (void)fprintf(out, " | %s | %s | ", collected_name(one->end),
                      collected_say(one, text, sizeof(text)));
        escape_markdown(one->sentence, out);
        (void)fputs(" |\n", out);
    }
    (void)fputs("\nOn ", out);
    escape_markdown(collection->host, out);
    (void)fprintf(out, ", %s, ", collection->started);
    escape_markdown_code(path, out);
    (void)fputc('\n', out);
}
