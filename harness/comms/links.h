/*
 * Assigns the traffic between GPUs to the links between them. Pure.
 *
 * A pair on one host takes the shortest way: NVLink between the two, else the switch that both have
 * NVLinks to, else PCIe out of one GPU and into the other. A pair on two hosts takes the network of
 * both. This is an assumption: NCCL can be told otherwise, such as by NCCL_P2P_DISABLE. Bytes are
 * those on the wire, with what protocols add.
 */
#ifndef CONTEND_COMMS_LINKS_H
#define CONTEND_COMMS_LINKS_H

#include "harness/comms/plugin/record.h"
#include "harness/comms/total.h"
#include "harness/machine/gpu_links.h"

#define COMMS_PORTS_COLUMNS "host,pci,way,to,links,gbps"

/* A link of a GPU of that host. */
struct comms_port {
    char host[COMMS_HOST_MAX];
    struct gpu_link link;
};
struct comms_ports {
    size_t n, capacity;
    struct comms_port *port; /* owned */
};

/* Adds all links of a links.csv, or none. `text` has `size` bytes and is changed. -EINVAL with the
 * line, -ENOMEM. */
int comms_ports_parse(char *text, size_t size, struct comms_ports *ports, struct err *err);
void comms_ports_free(struct comms_ports *ports);

#define COMMS_NETWORK GPU_WAYS /* a further way: the network of a host */

struct comms_link {
    enum gpu_way way; /* or COMMS_NETWORK */
    bool in;          /* incoming, else outgoing; GPU_WAY_NVLINK is only outgoing */
    uint32_t gpu;     /* that has the link; COMMS_NETWORK: one of the host's GPUs */
    uint32_t to;      /* GPU_WAY_NVLINK: the other end */
    uint64_t bytes;   /* in this direction */
    double gbps;      /* capacity in this direction; 0 = unknown */
};

struct comms_links {
    size_t n, capacity;
    struct comms_link *link; /* owned; the busiest first */
    uint64_t unknown_bytes;  /* between GPUs without a known link */
    double seconds;          /* span of the timeline; 0 = unknown, as it lacks events */
};

/* -ENOMEM only. */
int comms_links_make(const struct comms_total *total, const struct comms_ports *ports,
                     const struct comms_timeline *timeline, struct comms_links *links,
                     struct err *err);
void comms_links_free(struct comms_links *links);

/* The share of its capacity that the link used in that time; NaN = unknown. */
double comms_link_share(const struct comms_links *links, const struct comms_link *link);

/* "NVLink out of GPU 0, to the switch", "PCIe into GPU 3", "network out of node1". */
const char *comms_call_link(const struct comms_total *total, const struct comms_link *link);

#endif
