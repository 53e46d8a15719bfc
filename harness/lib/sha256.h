/* SHA-256 (FIPS 180-4, 2015) for short texts: replaces names that must not become public. */
#ifndef CONTEND_LIB_SHA256_H
#define CONTEND_LIB_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t size, uint8_t digest[SHA256_BYTES]);

#endif
