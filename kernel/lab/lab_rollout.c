// SPDX-License-Identifier: GPL-2.0
/* Runs a model for the learner flows of one run; see lab_rollout.h. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lab_rollout.h"
#include "ndm/ndm_blob.h"

/* A model and its flows, which have consecutive numbers. */
struct lab_rollout_model {
	struct ndm_described_model described;
	struct ndm_network network;
	bool loaded;
	s16 h[LAB_ROLLOUT_FLOWS][NDM_HIDDEN_MAX];	/* Q15 */
	u32 first_flow;			/* 0: no decision yet */
};

struct lab_rollout {
	struct ndm_wire_plan plan;
	struct lab_rollout_model models[NDM_GYM_MODELS];
	u64 end_us;			/* 0: nothing recorded yet */
	s16 *noise;			/* [flows][decisions][NDM_OUTPUTS], Q14 */
	struct ndm_wire_step *steps;
	u32 recorded;
};

static struct lab_rollout *lab_rollout;

/* Flow numbers increase from run to run; those up to lab_earlier_flow are of earlier runs. */
static u32 lab_earlier_flow[NDM_GYM_MODELS], lab_newest_flow[NDM_GYM_MODELS];

void lab_rollout_end(void)
{
	if (!lab_rollout)
		return;
	kvfree(lab_rollout->steps);
	kvfree(lab_rollout->noise);
	kvfree(lab_rollout);
	lab_rollout = NULL;
}

bool lab_rollout_runs(void)
{
	return lab_rollout;
}

const void *lab_rollout_steps(size_t *size)
{
	*size = lab_rollout->recorded * sizeof(*lab_rollout->steps);
	return lab_rollout->steps;
}

static size_t lab_noise_size(const struct ndm_wire_plan *plan)
{
	return array3_size(plan->flows, plan->decisions,
			   NDM_OUTPUTS * sizeof(s16));
}

static const char *lab_load_model(struct lab_rollout_model *model, const u8 *file,
				  u32 size)
{
	const char *problem;

	model->loaded = true;
	problem = ndm_blob_parse(file, size, &model->described.model,
				 &model->described.facts);
	if (!problem)
		ndm_core_prepare(&model->network, &model->described.model);
	return problem;
}

static const char *lab_load_frame(struct lab_rollout *next, const void *frame,
				  size_t size)
{
	const struct ndm_wire_plan *plan = &next->plan;
	const u8 *policy = frame + sizeof(*plan);
	const char *problem;
	size_t steps, files;
	const u8 *snapshot;

	memcpy(&next->plan, frame, sizeof(*plan));
	steps = size_mul(plan->steps, sizeof(*next->steps));
	if (!plan->steps || steps > NDM_FRAME_MAX)
		return "the PLAN frame records no steps, or too many";
	files = size_add(plan->model_bytes, plan->snapshot_bytes);
	if (size != size_add(size_add(sizeof(*plan), files), lab_noise_size(plan)))
		return "the PLAN frame has not the size that its header states";
	snapshot = policy + plan->model_bytes;
	problem = lab_load_model(&next->models[NDM_GYM_POLICY], policy,
				 plan->model_bytes);
	if (!problem && plan->snapshot_bytes)
		problem = lab_load_model(&next->models[NDM_GYM_SNAPSHOT], snapshot,
					 plan->snapshot_bytes);
	if (problem)
		return problem;
	/* Zeroed, so that its pages exist when the host reads or writes it. */
	next->noise = kvzalloc(max(lab_noise_size(plan), sizeof(s16)), GFP_KERNEL);
	next->steps = kvzalloc(steps, GFP_KERNEL);
	if (!next->noise || !next->steps)
		return "no memory for a rollout";
	memcpy(next->noise, snapshot + plan->snapshot_bytes, lab_noise_size(plan));
	return NULL;
}

const char *lab_rollout_begin(const void *frame, size_t size)
{
	const char *problem;

	lab_rollout_end();
	if (size < sizeof(struct ndm_wire_plan))
		return "the PLAN frame is shorter than its header";
	lab_rollout = kvzalloc(sizeof(*lab_rollout), GFP_KERNEL);
	if (!lab_rollout)
		return "no memory for a rollout";
	problem = lab_load_frame(lab_rollout, frame, size);
	if (problem)
		lab_rollout_end();
	memcpy(lab_earlier_flow, lab_newest_flow, sizeof(lab_earlier_flow));
	return problem;
}

/* The flow's index within this run. */
static u32 lab_flow_index(struct lab_rollout_model *model, u32 flow)
{
	if (!model->first_flow)
		model->first_flow = flow;
	return flow - model->first_flow;
}

static const s16 *lab_noise(u32 flow, u32 decision)
{
	static const s16 no_noise[NDM_OUTPUTS];
	const struct ndm_wire_plan *plan = &lab_rollout->plan;

	if (flow >= plan->flows || decision >= plan->decisions)
		return no_noise;
	return lab_rollout->noise +
	       ((size_t)flow * plan->decisions + decision) * NDM_OUTPUTS;
}

/* Decides with noise. The step records mean plus noise, the action is clamped. */
static void lab_record(struct lab_rollout_model *policy, u32 flow,
		       const struct ndm_wire_observation *observation,
		       struct ndm_wire_action *action)
{
	struct ndm_wire_step *step = &lab_rollout->steps[lab_rollout->recorded++];
	const s16 *noise = lab_noise(flow, observation->decision);
	s16 mean[NDM_OUTPUTS];
	int k;

	if (!lab_rollout->end_us)
		lab_rollout->end_us = observation->now_us + lab_rollout->plan.duration_us;
	step->observation = *observation;
	ndm_core_step(&policy->network, policy->h[flow],
		      observation->features, mean);
	for (k = 0; k < NDM_OUTPUTS; k++) {
		step->action.actions[k] = clamp_t(s32, mean[k] + noise[k],
						  S16_MIN, S16_MAX);
		action->actions[k] = clamp_t(s16, step->action.actions[k],
					     -(1 << NDM_ACTION_FRAC),
					     1 << NDM_ACTION_FRAC);
	}
	action->skip_slow_start = lab_rollout->plan.skip_slow_start >> flow & 1;
}

static bool lab_run_continues(const struct ndm_wire_observation *observation)
{
	return lab_rollout->recorded < lab_rollout->plan.steps &&
	       (!lab_rollout->end_us || observation->now_us < lab_rollout->end_us) &&
	       observation->cwnd <= lab_rollout->plan.max_cwnd;
}

bool lab_rollout_decide(enum ndm_gym_model model,
			const struct ndm_wire_observation *observation,
			struct ndm_wire_action *action)
{
	struct lab_rollout_model *decider = &lab_rollout->models[model];
	u32 flow;

	*action = (struct ndm_wire_action) {};
	if (observation->flow <= lab_earlier_flow[model] || !decider->loaded)
		return true;
	flow = lab_flow_index(decider, observation->flow);
	if (flow >= LAB_ROLLOUT_FLOWS)
		return true;
	lab_newest_flow[model] = max(lab_newest_flow[model], observation->flow);
	if (model == NDM_GYM_POLICY)
		lab_record(decider, flow, observation, action);
	else
		ndm_core_step(&decider->network, decider->h[flow],
			      observation->features, action->actions);
	return lab_run_continues(observation);
}
