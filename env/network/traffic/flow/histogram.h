/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A log-linear histogram of durations.
 *
 * Values below 2 * HISTOGRAM_STEPS nanoseconds have a bucket each. Above, every power of two is divided into
 * HISTOGRAM_STEPS buckets of equal width, so a bucket is at most 1/128 of its lower edge wide, over the whole range of
 * 64 bits: the middle of a bucket differs from a value in it by less than 1/256 = 0.4 %.
 * Count, sum and maximum are exact.
 */
#ifndef FLOW_HISTOGRAM_H
#define FLOW_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BITS 7
#define HISTOGRAM_STEPS (1u << HISTOGRAM_BITS)
/* the last bucket is that of UINT64_MAX: shift 56, 7 bits of step */
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_BITS + 1) * HISTOGRAM_STEPS)

struct histogram {
	uint64_t count;
	uint64_t sum_ns;	/* cannot overflow: 2^63 ns are 292 years */
	uint64_t max_ns;
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

static inline unsigned int histogram_bucket(uint64_t ns)
{
	int shift;

	if (ns < 2 * HISTOGRAM_STEPS)
		return ns;
	/* the leading one and the HISTOGRAM_BITS bits behind it */
	shift = 63 - __builtin_clzll(ns) - HISTOGRAM_BITS;
	return shift * HISTOGRAM_STEPS + (ns >> shift);
}

/* The smallest value of a bucket. */
static inline uint64_t histogram_low(unsigned int bucket)
{
	if (bucket < 2 * HISTOGRAM_STEPS)
		return bucket;
	return (uint64_t)(bucket % HISTOGRAM_STEPS + HISTOGRAM_STEPS) << (bucket / HISTOGRAM_STEPS - 1);
}

/* The number of values that fall into a bucket. */
static inline uint64_t histogram_width(unsigned int bucket)
{
	return bucket < 2 * HISTOGRAM_STEPS ? 1 : 1ull << (bucket / HISTOGRAM_STEPS - 1);
}

static inline void histogram_add(struct histogram *histogram, uint64_t ns)
{
	histogram->count++;
	histogram->sum_ns += ns;
	if (ns > histogram->max_ns)
		histogram->max_ns = ns;
	histogram->buckets[histogram_bucket(ns)]++;
}

#endif
