/* Findings on a terminal: the one printer of them. */
#ifndef CONTEND_TABLE_FINDINGS_H
#define CONTEND_TABLE_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/core/finding.h"

/*
 * First what is said of the whole, each behind an empty line, with its command; then, behind one
 * empty line, what is said of a subject: "- SUBJECT: SENTENCE", with ~ for a doubt and ! for what
 * is bad. Nothing where there is none.
 */
void findings_print(const struct findings *findings, FILE *out, bool color);

#endif
