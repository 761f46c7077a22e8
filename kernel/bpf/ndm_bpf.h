/* SPDX-License-Identifier: GPL-2.0 */
/* What the BPF object's maps hold, for the object and for the programs that read or write them. */
#ifndef NDM_BPF_H
#define NDM_BPF_H

#include <linux/types.h>

#include "ndm/ndm_core.h"

/* Bytes of a model's name, with a zero. */
#define NDM_BPF_NAME 64

/*
 * The object's loops have constant bounds, so a network has one of two sizes. A smaller one has
 * units of weight 0 in addition. Their state is 0, so that they change no result.
 */
#define NDM_BPF_UNITS_FEW 16
#define NDM_BPF_UNITS_MANY NDM_HIDDEN_MAX

/* A model in use. The map ndm_models has one if another than the compiled-in one is used. */
struct ndm_bpf_model {
	__u32 number;	/* increases with each model; 0: compiled in */
	__u32 unused;
	struct ndm_network network;
	char name[NDM_BPF_NAME];
	__u8 sha256[32];	/* of the float policy */
};

/* Per CPU, the map ndm_counters. */
struct ndm_bpf_counters {
	__u64 connections;	/* opened */
	__u64 decisions;
	__u64 without_state;	/* connections that run Reno, as there was no memory for a state */
};

/* An entry of the ring buffer ndm_events, as of the module's tracepoint. */
struct ndm_bpf_event {
	__u32 flow;
	__u32 decision;
	__u32 cwnd;
	__u32 srtt_us;
	__u32 model;
	__s16 x[NDM_INPUTS];
	__s16 action[NDM_OUTPUTS];
};

#endif /* NDM_BPF_H */
