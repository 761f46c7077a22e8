/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/lab_traffic: between lab_traffic.c and env/network/traffic/flow/kernel.c. */
#ifndef LAB_TRAFFIC_H
#define LAB_TRAFFIC_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define LAB_FLOWS	2048		/* sockets at once */
#define LAB_SOURCES	4096		/* of samples */
#define LAB_RECORDS	(2048 * 1024)	/* bytes that wait to be read, at most */

/* What the kernel does with a socket. */
enum lab_role {
	LAB_SEND_BULK,		/* send as much as the socket takes */
	LAB_SEND_STREAM,	/* write size bytes again and again */
	LAB_SEND_REQUESTS,	/* send requests of size bytes, each after a reply */
	LAB_RECEIVE,		/* receive and drop whatever arrives */
	LAB_REPLY,		/* reply to each size bytes with one byte */
};

/* A socket to serve. */
struct lab_serve {
	__s32 fd;
	__u32 role;
	__u32 id;		/* of the records of its latencies */
	__u32 reserved;
	__u64 size;		/* of a write or request, bytes */
};

/* What has become of a socket's traffic. */
struct lab_count {
	__s32 fd;		/* in: the socket */
	__s32 error;		/* out: of the call that ended the traffic; 0: none has */
	__u64 bytes;		/* out: sent or received so far */
	__u64 left;		/* out: of a write or request that is not complete */
};

/* What a sample has of a source, and the type of its records. Samples are taken in this order. */
enum lab_type {
	LAB_TCP,		/* of a socket: struct lab_tcp */
	LAB_BYTES,		/* of a socket: received so far; __u64 */
	LAB_NETLINK,		/* of a netlink socket: an answer to the source's request */
	LAB_TYPES,
	/* no sample: the duration of a write or request is the value, ns */
	LAB_LATENCY = LAB_TYPES,
};

/* A source of samples. */
struct lab_source {
	__u32 type;
	__u32 id;		/* a source with the same type and id is replaced */
	__s32 fd;		/* -1: LAB_BYTES has the bytes below; the others have no record */
	__u32 length;		/* LAB_NETLINK: of the request, bytes; at most LAB_REQUEST */
	__u64 request;		/* LAB_NETLINK: its address */
	__u64 bytes;
};

#define LAB_REQUEST	4096

/* When samples are taken: at first_ns of CLOCK_MONOTONIC, then after each interval. */
struct lab_ticks {
	__u64 first_ns;
	__u64 interval_ns;
};

/* What read() returns: whole records. poll() waits until an eighth of LAB_RECORDS is used. */
struct lab_record {
	__u32 type;		/* enum lab_type */
	__u32 id;
	__u64 value;		/* of a sample: the time, ns of CLOCK_MONOTONIC */
	__u32 length;		/* of what follows, bytes, without padding to 8 */
	__u32 reserved;
};

/*
 * The kernel's structures are longer or shorter than those of the program's headers. There is
 * room for either.
 */
struct lab_tcp {
	__u32 cc_length;	/* what the congestion control has reported, bytes */
	__u32 length;		/* of struct tcp_info */
	__u64 cc[16];		/* union tcp_cc_info */
	__u64 info[64];		/* struct tcp_info */
};

/* Have a thread for each of so many sockets: the argument is their number. */
#define LAB_PREPARE	_IO('L', 0)
/* Serve no socket any longer, and take no samples; the records that have not been read are lost. */
#define LAB_FORGET	_IO('L', 7)
/* Serve a socket from now on. */
#define LAB_SERVE	_IOW('L', 1, struct lab_serve)
/* Count. Before that, receive what has arrived, although it may be less than SO_RCVLOWAT. */
#define LAB_COUNT	_IOWR('L', 2, struct lab_count)
/* Count, and serve the socket no longer. */
#define LAB_STOP	_IOWR('L', 3, struct lab_count)
/* Add, replace or remove a source of samples. */
#define LAB_ADD_SOURCE	_IOW('L', 4, struct lab_source)
#define LAB_DROP_SOURCE	_IOW('L', 5, struct lab_source)
#define LAB_TICK	_IOW('L', 6, struct lab_ticks)

#endif
