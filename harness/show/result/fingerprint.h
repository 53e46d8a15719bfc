/* A fingerprint, and two of them compared, as blocks that a person reads. */
#ifndef CONTEND_SHOW_RESULT_FINGERPRINT_H
#define CONTEND_SHOW_RESULT_FINGERPRINT_H

#include "harness/show/doc/doc.h"
#include "harness/verdict/runs/fingerprint.h"

/* How many values, the command that compares them with others; part by part what was measured.
 * `path` is where its file lies. */
void fingerprint_add_to_doc(const struct fingerprint *print, const char *path, struct doc *doc);

/* The verdict; then value by value both, what `b` is relative to `a`, and in units. */
void fingerprints_add_to_doc(const struct fingerprint *a, const struct fingerprint *b,
                             const struct fingerprint_distance *distance, struct doc *doc);

/* Of several, ranked: how many differ from their median; then each, with what differs most. */
void fingerprint_fleet_add_to_doc(const struct fingerprint_machine *all, size_t n, struct doc *doc);

#endif
