/*
 * Topology XML as both of hwloc's parsers read it. hwloc has two: one over libxml2, a plugin that
 * a package of its own brings, and its own one, which takes only what hwloc itself writes, line by
 * line. This rewrites any well-formed topology XML to that form, and says what other files are.
 */
#ifndef CONTEND_MACHINE_TOPO_TOPO_XML_H
#define CONTEND_MACHINE_TOPO_TOPO_XML_H

#include <stddef.h>

#include "harness/lib/base/err.h"

struct topo_xml {
    char *text;            /* owned; ends with a NUL */
    size_t bytes;          /* without the NUL */
    unsigned major, minor; /* of the format: 2.0 from hwloc 2; 1.0 and 0.9 from hwloc 1 */
};

/*
 * Rewrites `bytes` bytes of text, which a NUL follows. `name` is the file's, for messages. Only
 * what hwloc reads is left: no comments, user data, or attributes of names that hwloc cannot have.
 * Errors: -EINVAL not a topology XML, or a malformed one; -ENOMEM. Free *xml with topo_xml_free,
 * also after an error.
 */
int topo_xml_normalise(const char *name, const char *text, size_t bytes, struct topo_xml *xml,
                       struct err *err);
void topo_xml_free(struct topo_xml *xml);

/* Copies at most n bytes of a text from outside to a line: control characters become '?'. */
void topo_xml_quote(char *to, size_t size, const char *from, size_t n);

#endif
