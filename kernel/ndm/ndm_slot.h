/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A slot: one congestion control of the module, "ndm" or "ndm_NAME", and the model
 * that its connections use.
 *
 * The compiled-in model can be replaced while connections run:
 *
 *	echo mine.bin > /sys/module/tcp_ndm/ndm/model
 *
 * loads /lib/firmware/mine.bin through the firmware loader (ndm_blob.h parses it);
 * "builtin" restores the compiled-in model. Open connections use the new model from
 * their next decision on, with their state reset to zero: it has no meaning for
 * other weights. A refused file changes nothing.
 *
 * The same folder describes the model; counters/ shows its activity.
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

/* A model in use, and the file that it comes from. */
struct ndm_loaded {
	struct rcu_head rcu;	/* kfree_rcu() wants it near the beginning */
	const struct ndm_described_model *described;
	struct ndm_network network;
	u32 number;		/* increases with each model */
	char file[64];
	struct ndm_described_model from_file;
};

struct ndm_slot {
	struct tcp_congestion_ops ops;	/* ndm_slot_of() finds the slot by it */
	struct ndm_loaded __rcu *active;
	struct ndm_loaded builtin;
	unsigned long __percpu *decisions;
	bool registered;
	atomic_t starved;		/* connections that the guard has taken from their policy */
	struct kobject folder;		/* in sysfs */
	struct completion folder_released;
	unsigned int swaps, refused;	/* under the mutex of ndm_slot.c */
};

static inline struct ndm_slot *ndm_slot_of(const struct sock *sk)
{
	return container_of(inet_csk(sk)->icsk_ca_ops, struct ndm_slot, ops);
}

/**
 * ndm_slot_init - set up a slot with its compiled-in model and its sysfs folder
 * @slot: its ops are set; registering the congestion control is the caller's task
 * @model: the compiled-in model
 *
 * Context: may sleep.
 */
int ndm_slot_init(struct ndm_slot *slot,
		  const struct ndm_described_model *model);

/* Frees the models of a slot that no socket uses any more. */
void ndm_slot_exit(struct ndm_slot *slot);

/**
 * ndm_slot_load - replace the model of a slot
 * @slot: initialised
 * @file: a file name for the firmware loader, or NDM_BUILTIN
 *
 * Context: may sleep.
 * Return: 0, or a negative errno when the file is refused; nothing has changed then.
 */
int ndm_slot_load(struct ndm_slot *slot, const char *file);

/* Reads the parameter "pin". Returns its first text that is no SHA-256; NULL if all are. */
const char *ndm_pin_init(void);

/* Why a model file with this SHA-256 may not be loaded; NULL: it may. */
const char *ndm_pin_refuses(const u8 *digest);

/* The device that the firmware loader needs; added before the first slot. */
int ndm_slot_device_add(void);
void ndm_slot_device_del(void);

#endif /* NDM_SLOT_H */
