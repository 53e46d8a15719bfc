#include "harness/store/forms/list.h"

static json_t *entry_to_json(const struct list_entry *entry)
{
    json_t *one = json_pack("{s:s, s:s}", "name", entry->name, "summary", entry->summary);
    if (entry->asked)
        (void)json_object_set_new(one, "not_here",
                                  entry->not_here[0] ? json_string(entry->not_here) : json_null());
    return one;
}

void list_add_json(json_t *object, const struct list *lists, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_t *of_kind = json_array();
        for (size_t e = 0; e < lists[i].n; e++)
            (void)json_array_append_new(of_kind, entry_to_json(&lists[i].entries[e]));
        (void)json_object_set_new(object, lists[i].kind, of_kind);
    }
}
