#include "harness/show/collection.h"

void collection_add_to_doc(const struct collection *collection, struct doc *doc)
{
    doc_heading(doc, "%s", collection_format(collection));
    doc_gap(doc);
    struct doc_table *table = doc_table(doc);
    doc_column(table, DOC_CODE, "scenario");
    doc_columns(table, DOC_LABEL, "ended", "rounds", NULL);
    doc_column(table, DOC_SENTENCE, "what it says");
    for (size_t i = 0; i < collection->n; i++) {
        const struct collected *one = &collection->all[i];
        doc_row(table, DOC_PLAIN);
        doc_cell(table, "%s", one->scenario);
        doc_cell(table, "%s", collected_name(one->end));
        doc_cell(table, "%s", collected_format(one));
        doc_cell(table, "%s", one->sentence);
    }
}

void collection_print(const struct collection *collection, FILE *out, bool color)
{
    struct doc doc = {0};
    collection_add_to_doc(collection, &doc);
    doc_print(&doc, out, color, false);
    doc_free(&doc);
}
