/*
 * What went between GPUs, laid over what joins them. Pure.
 *
 * A pair of one host takes the shortest way: NVLink between the two, else through the switch that
 * both have NVLinks to, else PCIe out of the one and into the other; a pair of two hosts takes the
 * network of both. That NCCL did so is assumed: it can be told otherwise (NCCL_P2P_DISABLE, ...).
 * Bytes are those on the wire, with what protocols add.
 */
#ifndef CONTEND_COMMS_VIEW_LINKS_H
#define CONTEND_COMMS_VIEW_LINKS_H

#include "harness/comms/logs/record.h"
#include "harness/comms/view/total.h"
#include "harness/machine/gpu/links.h"

#define COMMS_PORTS_COLUMNS "host,pci,way,to,links,gbps"

/* How a GPU of a host is joined to others. */
struct comms_port {
    char host[COMMS_HOST_MAX];
    struct gpu_link link;
};
struct comms_ports {
    size_t n, capacity;
    struct comms_port *port; /* owned */
};

/* Adds what a links.csv of so many bytes has, which is changed: all or nothing. -EINVAL with the
 * line, -ENOMEM. */
int comms_ports_parse(char *text, size_t size, struct comms_ports *ports, struct err *err);
void comms_ports_free(struct comms_ports *ports);

#define COMMS_NETWORK GPU_WAYS /* one way more, out of a host and into it */

struct comms_link {
    enum gpu_way way; /* or COMMS_NETWORK */
    bool in;          /* what comes in, else what goes out; GPU_WAY_NVLINK has out alone */
    uint32_t gpu;     /* whose it is; COMMS_NETWORK: one of the host's */
    uint32_t to;      /* GPU_WAY_NVLINK: the other end */
    uint64_t bytes;   /* in this direction */
    double gbps;      /* what it can carry in this direction; 0 = unknown */
};

struct comms_links {
    size_t n, capacity;
    struct comms_link *link; /* owned; the hottest first */
    uint64_t unknown_bytes;  /* between GPUs of which no link is known */
    double seconds;          /* in which that was; 0 = unknown, as of a timeline with gaps */
};

/* -ENOMEM only. */
int comms_links_make(const struct comms_total *total, const struct comms_ports *ports,
                     const struct comms_timeline *timeline, struct comms_links *links,
                     struct err *err);
void comms_links_free(struct comms_links *links);

/* The share of its capacity in that time; NaN = unknown. */
double comms_link_share(const struct comms_links *links, const struct comms_link *link);

/* "NVLink of GPU 0 to the switch", "PCIe into GPU 3", "network out of node1". Returns buf. */
char *comms_call_link(const struct comms_total *total, const struct comms_link *link, char *buf,
                      size_t size);

#endif
