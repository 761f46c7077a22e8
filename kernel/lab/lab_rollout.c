// SPDX-License-Identifier: GPL-2.0
/* Runs a model for the learner flows of one run; see lab_rollout.h. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lab_rollout.h"
#include "ndm/ndm_blob.h"

/* A model and its flows, which count up. */
struct played {
	struct ndm_described_model is;
	bool there;
	s16 h[LAB_ROLLOUT_FLOWS][NDM_HIDDEN_MAX];	/* Q15 */
	u32 first_flow;			/* 0: none seen yet */
};

struct rollout {
	struct ndm_wire_play plan;
	struct played models[NDM_GYM_MODELS];
	u64 end_us;			/* 0: nothing recorded yet */
	s16 *noise;			/* [flows][decisions][NDM_OUTPUTS], Q14 */
	struct ndm_wire_step *steps;
	u32 recorded;
};

static struct rollout *rollout;

/* Flows count on from run to run: those up to the former are of earlier runs. */
static u32 earlier_flows[NDM_GYM_MODELS], newest_flow[NDM_GYM_MODELS];

void lab_rollout_end(void)
{
	if (!rollout)
		return;
	kvfree(rollout->steps);
	kvfree(rollout->noise);
	kvfree(rollout);
	rollout = NULL;
}

bool lab_rollout_runs(void)
{
	return rollout;
}

const void *lab_rollout_steps(size_t *size)
{
	*size = rollout->recorded * sizeof(*rollout->steps);
	return rollout->steps;
}

static size_t noise_size(const struct ndm_wire_play *plan)
{
	return array3_size(plan->flows, plan->decisions,
			   NDM_OUTPUTS * sizeof(s16));
}

static const char *take_model(struct played *played, const u8 *file, u32 size)
{
	played->there = true;
	return ndm_blob_parse(file, size, &played->is.model,
			      &played->is.facts);
}

static const char *take(struct rollout *next, const void *frame, size_t size)
{
	const struct ndm_wire_play *plan = &next->plan;
	const u8 *model = frame + sizeof(*plan);
	const char *problem;
	size_t steps, files;
	const u8 *snapshot;

	memcpy(&next->plan, frame, sizeof(*plan));
	steps = size_mul(plan->steps, sizeof(*next->steps));
	if (!plan->steps || steps > NDM_FRAME_MAX)
		return "it is to record too much or nothing";
	files = size_add(plan->model_bytes, plan->snapshot_bytes);
	if (size != size_add(size_add(sizeof(*plan), files), noise_size(plan)))
		return "it has not the size that it says";
	snapshot = model + plan->model_bytes;
	problem = take_model(&next->models[NDM_GYM_POLICY], model,
			     plan->model_bytes);
	if (!problem && plan->snapshot_bytes)
		problem = take_model(&next->models[NDM_GYM_SNAPSHOT], snapshot,
				     plan->snapshot_bytes);
	if (problem)
		return problem;
	/* Touched before the host reads or writes it. */
	next->noise = kvzalloc(max(noise_size(plan), sizeof(s16)), GFP_KERNEL);
	next->steps = kvzalloc(steps, GFP_KERNEL);
	if (!next->noise || !next->steps)
		return "there is no memory for it";
	memcpy(next->noise, snapshot + plan->snapshot_bytes, noise_size(plan));
	return NULL;
}

const char *lab_rollout_begin(const void *frame, size_t size)
{
	const char *problem;

	lab_rollout_end();
	if (size < sizeof(struct ndm_wire_play))
		return "it is too short";
	rollout = kvzalloc(sizeof(*rollout), GFP_KERNEL);
	if (!rollout)
		return "there is no memory for it";
	problem = take(rollout, frame, size);
	if (problem)
		lab_rollout_end();
	memcpy(earlier_flows, newest_flow, sizeof(earlier_flows));
	return problem;
}

/* Which of the run's flows this is, from 0. */
static u32 index_of(struct played *played, u32 flow)
{
	if (!played->first_flow)
		played->first_flow = flow;
	return flow - played->first_flow;
}

static const s16 *noise_of(u32 flow, u32 decision)
{
	static const s16 silence[NDM_OUTPUTS];
	const struct ndm_wire_play *plan = &rollout->plan;

	if (flow >= plan->flows || decision >= plan->decisions)
		return silence;
	return rollout->noise +
	       ((size_t)flow * plan->decisions + decision) * NDM_OUTPUTS;
}

/* What the policy does, with noise, to be recorded. */
static void play(struct played *policy, u32 flow, struct ndm_wire_step *step)
{
	const struct ndm_wire_observation *seen = &step->observation;
	const s16 *noise = noise_of(flow, seen->decision);
	s16 mean[NDM_OUTPUTS];
	int k;

	ndm_core_step(&policy->is.model, policy->h[flow], seen->features, mean);
	for (k = 0; k < NDM_OUTPUTS; k++)
		step->action.actions[k] = clamp_t(s32, mean[k] + noise[k],
						  S16_MIN, S16_MAX);
}

static void record(struct played *policy, u32 flow,
		   const struct ndm_wire_observation *observation,
		   struct ndm_wire_action *action)
{
	struct ndm_wire_step *step = &rollout->steps[rollout->recorded++];
	int k;

	if (!rollout->end_us)
		rollout->end_us = observation->now_us + rollout->plan.duration_us;
	step->observation = *observation;
	play(policy, flow, step);
	for (k = 0; k < NDM_OUTPUTS; k++)
		action->actions[k] = clamp_t(s16, step->action.actions[k],
					     -(1 << NDM_ACTION_FRAC),
					     1 << NDM_ACTION_FRAC);
	action->skip_slow_start = rollout->plan.skip_slow_start >> flow & 1;
}

static bool goes_on(const struct ndm_wire_observation *observation)
{
	return rollout->recorded < rollout->plan.steps &&
	       (!rollout->end_us || observation->now_us < rollout->end_us) &&
	       observation->cwnd <= rollout->plan.most_cwnd;
}

bool lab_rollout_decide(enum ndm_gym_model model,
			const struct ndm_wire_observation *observation,
			struct ndm_wire_action *action)
{
	struct played *played = &rollout->models[model];
	u32 flow;

	*action = (struct ndm_wire_action) {};
	if (observation->flow <= earlier_flows[model] || !played->there)
		return true;
	flow = index_of(played, observation->flow);
	if (flow >= LAB_ROLLOUT_FLOWS)
		return true;
	newest_flow[model] = max(newest_flow[model], observation->flow);
	if (model == NDM_GYM_POLICY)
		record(played, flow, observation, action);
	else
		ndm_core_step(&played->is.model, played->h[flow],
			      observation->features, action->actions);
	return goes_on(observation);
}
