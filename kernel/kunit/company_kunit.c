// SPDX-License-Identifier: GPL-2.0
/* What the network sees of a queue in company: ndm_company.h. */
#include <kunit/test.h>
#include <linux/module.h>

#include "ndm/ndm_company.h"

#define CWND(packets) ((packets) << NDM_CWND_FRAC)

struct shows_case {
	const char *name;
	u32 delivered;
	s16 rtt_ratio, delivery_ratio;
	bool expected;
};

static const struct shows_case shows_cases[] = {
	{ "less_than_the_link_with_a_queue", 16, 513, 3327, true },
	{ "too_few_packets", 15, 513, 3327, false },
	{ "no_queue", 16, 512, 3327, false },
	{ "the_whole_link", 16, 513, 3328, false },
	{ "nothing_of_the_link", 16, S16_MAX, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(shows, shows_cases, name);

static void shows_test(struct kunit *test)
{
	const struct shows_case *c = test->param_value;
	struct ndm_interval interval = {
		.delivered = c->delivered,
		.x = {
			[NDM_IN_RTT_RATIO] = c->rtt_ratio,
			[NDM_IN_DELIVERY_RATIO] = c->delivery_ratio,
		},
	};

	KUNIT_EXPECT_EQ(test, ndm_shows_company(&interval), c->expected);
}

struct scale_case {
	const char *name;
	u32 cwnd_fp;
	s16 rtt_ratio, inflight_ratio, scaled_rtt, scaled_inflight;
};

static const struct scale_case scale_cases[] = {
	{ "smallest_window", CWND(2), 2048, 6144, 1024, 5120 },
	{ "half_of_64", CWND(32), 2048, 6144, 1024, 5120 },
	{ "between", CWND(48), 2048, 6144, 1536, 5632 },
	{ "as_it_is", CWND(64), 2048, 6144, 2048, 6144 },
	{ "twice", CWND(128), 2048, 6144, 4096, 8192 },
	{ "largest_window", CWND(NDM_CWND_MAX), 2048, 6144, 4096, 8192 },
	{ "no_queue", CWND(128), 0, 4096, 0, 4096 },
	{ "less_in_flight_than_the_path_holds", CWND(128), 0, 100, 0, 100 },
	{ "largest_queue", CWND(128), S16_MAX, S16_MAX, S16_MAX, S16_MAX },
};

KUNIT_ARRAY_PARAM_DESC(scale, scale_cases, name);

static void scale_test(struct kunit *test)
{
	const struct scale_case *c = test->param_value;
	s16 x[NDM_INPUTS] = { 0 };

	x[NDM_IN_RTT_RATIO] = c->rtt_ratio;
	x[NDM_IN_INFLIGHT_RATIO] = c->inflight_ratio;
	ndm_scale_queue(x, c->cwnd_fp);
	KUNIT_EXPECT_EQ(test, x[NDM_IN_RTT_RATIO], c->scaled_rtt);
	KUNIT_EXPECT_EQ(test, x[NDM_IN_INFLIGHT_RATIO], c->scaled_inflight);
}

static struct kunit_case company_cases[] = {
	KUNIT_CASE_PARAM(shows_test, shows_gen_params),
	KUNIT_CASE_PARAM(scale_test, scale_gen_params),
	{}
};

static struct kunit_suite company_suite = {
	.name = "ndm_company",
	.test_cases = company_cases,
};

kunit_test_suite(company_suite);

MODULE_DESCRIPTION("KUnit tests of what NDM sees in company");
MODULE_LICENSE("GPL");
