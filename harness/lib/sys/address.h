/* The addresses of this machine, as other machines and programs write them. */
#ifndef CONTEND_LIB_SYS_ADDRESS_H
#define CONTEND_LIB_SYS_ADDRESS_H

#include <stdbool.h>

/* Whether it is an address of one of its interfaces, as inet_ntop writes it, or its host name. */
bool address_is_own(const char *text);

#endif
