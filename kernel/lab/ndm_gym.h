/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between tcp_ndm_gym and the host that decides for it. */
#ifndef NDM_GYM_H
#define NDM_GYM_H

#include "ndm/ndm_schema.h"

/* The models that can decide. Each has a congestion control and a flow counter. */
enum ndm_gym_model {
	NDM_GYM_POLICY,		/* the policy in training: ndm_gym */
	NDM_GYM_SNAPSHOT,	/* an older policy that competes: ndm_snapshot */
	NDM_GYM_MODELS,
};

struct ndm_gym_host {
	/*
	 * Fills @action for @observation; false: hold cwnd. Must not sleep: it
	 * runs in softirq or with a socket locked.
	 */
	bool (*decide)(enum ndm_gym_model model,
		       const struct ndm_wire_observation *observation,
		       struct ndm_wire_action *action);
};

/**
 * ndm_gym_set_host - register the host that decides
 * @host: must stay valid until it is replaced; NULL unregisters the old host and
 *	waits for its running calls
 *
 * Context: may sleep.
 * Return: 0, or -EBUSY when another host is registered.
 */
int ndm_gym_set_host(const struct ndm_gym_host *host);

/**
 * ndm_gym_ask - ask the host for a decision
 * @model: the model that decides
 * @observation: its observation
 * @action: filled with the decision
 *
 * Context: any but hard interrupts; does not sleep.
 * Return: false without a host or a decision; the caller then holds cwnd.
 */
bool ndm_gym_ask(enum ndm_gym_model model,
		 const struct ndm_wire_observation *observation,
		 struct ndm_wire_action *action);

#endif /* NDM_GYM_H */
