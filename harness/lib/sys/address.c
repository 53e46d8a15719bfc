#include "harness/lib/sys/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_address(const struct sockaddr *address, const char *text)
{
    char own[INET6_ADDRSTRLEN];
    if (!address)
        return false;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in4 = (const void *)address;
        return inet_ntop(AF_INET, &in4->sin_addr, own, sizeof(own)) && !strcmp(own, text);
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)address;
        return inet_ntop(AF_INET6, &in6->sin6_addr, own, sizeof(own)) && !strcmp(own, text);
    }
    return false;
}

bool address_is_own(const char *text)
{
    char name[256] = "";
    struct ifaddrs *all = NULL;
    if (!gethostname(name, sizeof(name) - 1) && name[0] && !strcmp(name, text))
        return true;
    if (getifaddrs(&all))
        return false;
    bool found = false;
    for (const struct ifaddrs *at = all; at && !found; at = at->ifa_next)
        found = is_address(at->ifa_addr, text);
    freeifaddrs(all);
    return found;
}
