/* Numbers with units, in and out: sizes (K/M/G binary), durations (ns to h), SI formatting. */
#ifndef CONTEND_LIB_BASE_UNITS_H
#define CONTEND_LIB_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"

/* "4K", "1M", "2GiB", "512" -> bytes. -EINVAL quotes the text; overflow is an error, not a wrap. */
int units_parse_size(const char *text, uint64_t *size_bytes, struct err *err);

/* "1.5", "1.5s", "200ms", "50us", "10ns", "2m" or "2min", "1h30m" -> seconds, finite and >= 0. */
int units_parse_duration(const char *text, double *seconds, struct err *err);

/* 0.00213 -> "2.13 ms": three significant digits; NaN -> "-". Returns buf. */
char *units_format_seconds(double seconds, char *buf, size_t size);

/* 1234567 -> "1.23 M": three significant digits, decimal prefix; NaN -> "-". Returns buf. */
char *units_format_si(double value, char *buf, size_t size);

/* As %.*g, but never with an exponent: 12345 -> "12345", 0.00002 -> "0.00002". Returns buf. */
char *units_format_plain(double value, int digits, char *buf, size_t size);
/* The same two for an argument of printf, valid to the end of the block. */
enum { UNITS_MAX = 32 };
#define UNITS_SI(value) units_format_si((value), (char[UNITS_MAX]){0}, UNITS_MAX)
#define UNITS_PLAIN(digits, value)                                                                 \
    units_format_plain((value), (digits), (char[UNITS_MAX]){0}, UNITS_MAX)

/* 8388608 -> "8 MiB" when whole, else "8.1 MiB". Returns buf. */
char *units_format_bytes(uint64_t size_bytes, char *buf, size_t size);

#endif
