#include "harness/lib/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void err_write(struct err *err, int code,
                                                            const char *fmt, va_list ap)
{
    err->code = code;
    (void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err_write(err, code, fmt, ap);
        va_end(ap);
    }
    return code;
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        err_write(err, code, fmt, ap);
        va_end(ap);
        size_t used = strlen(err->msg);
        (void)snprintf(err->msg + used, sizeof(err->msg) - used, ": %s", strerror(-code));
    }
    return code;
}
