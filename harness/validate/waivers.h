/* A file of waivers: [{"rule": "nvlinks", "unit": "GPU 2", "reason": "12 by design", "until":
 * "2026-12-31"}]. Without a unit, a waiver is for all units. */
#ifndef CONTEND_VALIDATE_WAIVERS_H
#define CONTEND_VALIDATE_WAIVERS_H

#include "harness/lib/err.h"
#include "harness/validate/rules/waive.h"

/*
 * Free *waivers with waivers_free, also after an error. -EINVAL says what is wrong, by file and
 * line; also -ENOMEM, and errors of reading.
 */
int waivers_read(const char *path, struct waivers *waivers, struct err *err);
void waivers_free(struct waivers *waivers);

#endif
