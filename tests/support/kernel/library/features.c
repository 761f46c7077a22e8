// SPDX-License-Identifier: GPL-2.0
/*
 * The inputs as functions of build/libndm.so, for
 * tests/kernel/ndm/test_features.py: one connection's measurements, driven event by
 * event.
 */
#include "ndm/ndm_features.h"

unsigned int ndm_user_measure_size(void)
{
	return sizeof(struct ndm_measure);
}

void ndm_user_measure_init(struct ndm_measure *m, u32 now_us)
{
	struct ndm_reading now = { .now_us = now_us };

	ndm_measure_init(m, &now);
}

void ndm_user_measure_rtt(struct ndm_measure *m, u32 rtt_us)
{
	ndm_measure_rtt(m, rtt_us);
}

void ndm_user_measure_timeout(struct ndm_measure *m)
{
	ndm_measure_timeout(m);
}

void ndm_user_measure_undo(struct ndm_measure *m, u32 lost)
{
	ndm_measure_undo(m, lost);
}

void ndm_user_measure_idle(struct ndm_measure *m, u32 now_us, u32 idle_us)
{
	ndm_measure_idle(m, now_us, idle_us);
}

int ndm_user_interval_over(const struct ndm_measure *m, u32 now_us,
			   u32 prior_delivered)
{
	return ndm_interval_over(m, now_us, prior_delivered);
}

/* reading: now_us, delivered, lost, inflight, srtt_us, mdev_us */
void ndm_user_interval_close(struct ndm_measure *m, const u32 *reading, s16 *x,
			     u32 *length_us, u32 *rtt_us)
{
	struct ndm_reading now = {
		.now_us = reading[0],
		.delivered = reading[1],
		.lost = reading[2],
		.inflight = reading[3],
		.srtt_us = reading[4],
		.mdev_us = reading[5],
	};
	struct ndm_interval interval;
	int i;

	ndm_interval_close(m, &now, &interval);
	for (i = 0; i < NDM_INPUTS; i++)
		x[i] = interval.x[i];
	*length_us = interval.length_us;
	*rtt_us = interval.rtt_us;
}
