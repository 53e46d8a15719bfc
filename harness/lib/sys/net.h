/*
 * Servers on this machine: a free port for one, and whether it answers. Only loopback, and nothing
 * listens: contend itself offers no service.
 */
#ifndef CONTEND_LIB_SYS_NET_H
#define CONTEND_LIB_SYS_NET_H

#include <stdbool.h>

/* A TCP port that no program uses now, or -errno. Another program may take it before the caller. */
int net_free_port(void);

/* True if a program accepts connections at the port, of IPv4. */
bool net_accepts(unsigned port);

/* True if it answers GET of the path ("/health") with a status of 200 to 299 within the limit. */
bool net_answers_get(unsigned port, const char *path, double limit_s);

#endif
