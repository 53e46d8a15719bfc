/*
 * Errors as values: a negative errno and one sentence for the user.
 *
 * The function that detects an error writes the message, once; its callers pass code and struct on.
 * The struct holds no pointers, so it crosses shared memory between worker and parent.
 */
#ifndef CONTEND_LIB_ERR_H
#define CONTEND_LIB_ERR_H

#ifdef __cplusplus
extern "C" {
#endif

struct err {
    int code;      /* 0, or a negative errno */
    char msg[252]; /* one line without newline; names the bad value and what is allowed */
};

/*
 * Writes the message and returns `code` (a negative errno), so that the caller can
 * `return err_set(err, -EINVAL, ...)`. `err` may be NULL. A message that does not fit is cut.
 */
int err_set(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* As err_set, with ": <strerror(-code)>" after the message. */
int err_sys(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

#ifdef __cplusplus
}
#endif

#endif
