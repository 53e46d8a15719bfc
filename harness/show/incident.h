/* The outcomes of incidents, as blocks. */
#ifndef CONTEND_SHOW_INCIDENT_H
#define CONTEND_SHOW_INCIDENT_H

#include "harness/show/doc.h"
#include "harness/verdict/incidents.h"

/* Adds the verdict and a table with a line per incident; for a single one its report instead. */
void incidents_add_to_doc(const struct incident_outcome *all, size_t n, struct doc *doc);

#endif
