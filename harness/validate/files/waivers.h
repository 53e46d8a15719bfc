/* The file of waivers: [{"rule": "nvlinks", "unit": "GPU 2", "reason": "12 by design", "until":
 * "2026-12-31"}]; without a unit, of every one. */
#ifndef CONTEND_VALIDATE_FILES_WAIVERS_H
#define CONTEND_VALIDATE_FILES_WAIVERS_H

#include "harness/lib/base/err.h"
#include "harness/validate/rules/waive.h"

/*
 * Free *waivers with waivers_free, also after an error. -EINVAL: what is wrong, by file and line;
 * -ENOMEM, or why it cannot be read.
 */
int waivers_read(const char *path, struct waivers *waivers, struct err *err);
void waivers_free(struct waivers *waivers);

#endif
