/*
 * The traffic of all communicators together, from GPU to GPU. Pure.
 *
 * A rank's log names its GPU by host and PCI address. If the address is unknown, a process has one
 * GPU; if it has several ranks of one communicator, it has as many GPUs, numbered in the order of
 * those ranks. A rank without a log is a separate GPU in each communicator.
 */
#ifndef CONTEND_COMMS_TOTAL_H
#define CONTEND_COMMS_TOTAL_H

#include "harness/comms/merge.h"
#include "harness/comms/plugin/record.h"
#include "harness/machine/gpu_links.h"

struct comms_gpu {
    const struct comms_log *log; /* of its process, or its first process; NULL: no log is here */
    char pci[PCI_BDF_MAX];       /* "" = unknown */
    uint32_t slot;               /* if pci is unknown: index among the GPUs of its process */
    size_t communicator;         /* in which it was seen first */
    uint32_t rank;               /* its rank there */
    size_t ranks;                /* of all communicators */
};

struct comms_total {
    struct comms_matrix matrix; /* matrix.n GPUs */
    struct comms_gpu *gpu;      /* owned, in the order of communicators and ranks */
    size_t ncommunicators;
    uint32_t **gpu_of; /* owned: [communicator][rank] -> GPU, or COMMS_NO_GPU; [communicator] NULL:
                          left out */
    size_t left_out;   /* communicators that are too large for a matrix */
    bool assumed;      /* the order of ranks decided which GPUs of communicators are the same */
};

enum { COMMS_NO_GPU = UINT32_MAX };

/* -ENOMEM; -EOVERFLOW; -E2BIG: more GPUs than COMMS_MATRIX_RANKS. Borrows the communicators. */
int comms_total_make(const struct comms *comms, struct comms_total *total, struct err *err);
void comms_total_free(struct comms_total *total);

/*
 * "node1, GPU 0000:3b:00.0, process 77 (python)", without an address its number in the process; or
 * "rank 3 of communicator 1, without a log".
 */
const char *comms_call_gpu(const struct comms_gpu *gpu);

/* The logarithm for a scale by powers of ten; NaN for 0. */
double comms_log10(uint64_t value);

/*
 * Assigns the traffic between GPUs to the links between them. Pure.
 *
 * A pair on one host takes the shortest way: NVLink between the two, else the switch that both have
 * NVLinks to, else PCIe out of one GPU and into the other. A pair on two hosts takes the network of
 * both. This is an assumption: NCCL can be told otherwise, such as by NCCL_P2P_DISABLE. Bytes are
 * those on the wire, with what protocols add.
 */

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
