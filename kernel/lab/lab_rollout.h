/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A rollout inside the lab's kernel: a model decides for the learner flows of a
 * run, with exploration noise that the host has drawn, and their steps are
 * recorded. Flows of a second model, a snapshot, may run beside them; these have
 * no noise and are not recorded.
 *
 * Asking the host for a decision takes as long as simulating the packets of a round
 * trip. So the host sends the policy once and receives whole episodes.
 */
#ifndef LAB_ROLLOUT_H
#define LAB_ROLLOUT_H

#include "ndm_gym.h"

/* Flows per model; further flows hold their windows and are not recorded. */
#define LAB_ROLLOUT_FLOWS 64

/**
 * lab_rollout_begin - start a rollout
 * @frame: a payload of NDM_FRAME_PLAN; copied
 * @size: its size in bytes
 *
 * Context: may sleep; no rollout may be running.
 * Return: NULL, or the reason why the frame is refused.
 */
const char *lab_rollout_begin(const void *frame, size_t size);

/* Whether a rollout is running. */
bool lab_rollout_runs(void);

/**
 * lab_rollout_decide - decide for one flow, and record a learner's step
 * @model: the flow's model
 * @observation: the flow's observation
 * @action: filled with the decision
 *
 * Context: any; calls must not overlap.
 * Return: whether the run continues; false after its last decision.
 */
bool lab_rollout_decide(enum ndm_gym_model model,
			const struct ndm_wire_observation *observation,
			struct ndm_wire_action *action);

/* The recorded steps, @size bytes; valid until lab_rollout_end(). */
const void *lab_rollout_steps(size_t *size);
void lab_rollout_end(void);

#endif /* LAB_ROLLOUT_H */
