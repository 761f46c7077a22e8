/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A slot: one congestion control of the module, "ndm" or "ndm_NAME", with the
 * model that its connections ask.
 *
 * The model compiled in can be exchanged while connections run:
 *
 *	echo fiber.bin > /sys/module/tcp_ndm/ndm/model
 *
 * has the firmware loader fetch the file (/lib/firmware/fiber.bin), which
 * ndm_blob.h reads; "builtin" goes back. Every connection, old ones too, asks
 * the new model from its next decision on, and its memory begins anew: a state
 * means nothing to other weights. A file that is refused changes nothing.
 *
 * In the same folder stand the facts about the model, and in counters/ what it
 * has done.
 */
#ifndef NDM_SLOT_H
#define NDM_SLOT_H

#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <net/tcp.h>

#include "ndm_blob.h"

#define NDM_BUILTIN "builtin"

/* A model that connections ask, and where it comes from. */
struct ndm_loaded {
	const struct ndm_described_model *is;
	u8 number;		/* 0 to 63: counts on with each model, and wraps */
	char file[64];
	struct ndm_described_model from_file;
	struct rcu_head rcu;
};

struct ndm_slot {
	struct tcp_congestion_ops ops;	/* a socket's slot is found by it */
	struct ndm_loaded __rcu *active;
	struct ndm_loaded builtin;
	u64 __percpu *decisions;
	atomic_t interventions;		/* of the guard */
	struct kobject folder;		/* in sysfs */
	struct completion folder_is_gone;
	unsigned int swaps, refused;	/* under the mutex of ndm_slot.c */
};

static inline struct ndm_slot *ndm_slot_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct ndm_slot, ops);
}

/**
 * ndm_slot_init - a slot with its model compiled in, and its folder
 * @slot: has its ops; the congestion control is not registered here
 * @model: compiled in
 *
 * Context: may sleep.
 */
int ndm_slot_init(struct ndm_slot *slot,
		  const struct ndm_described_model *model);

/* Nobody asks the model any more. */
void ndm_slot_exit(struct ndm_slot *slot);

/**
 * ndm_slot_load - another model from now on
 * @slot: initialised
 * @file: for the firmware loader, or NDM_BUILTIN
 *
 * Context: may sleep.
 * Return: 0, or why the file is no model; then nothing has changed.
 */
int ndm_slot_load(struct ndm_slot *slot, const char *file);

/* The device on whose behalf files are loaded; before the first slot. */
int ndm_slot_device_add(void);
void ndm_slot_device_del(void);

#endif /* NDM_SLOT_H */
