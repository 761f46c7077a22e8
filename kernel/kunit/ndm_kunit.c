// SPDX-License-Identifier: GPL-2.0
/*
 * The fixed-point functions over their whole ranges, the integer network with
 * extreme weights, and the parser of model files: each reason to refuse a file, and
 * every length.
 */
#include <kunit/test.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "ndm/ndm_blob.h"
#include "ndm/ndm_math.h"

/* -- functions ------------------------------------------------------------- */

/*
 * These tests measure the worst errors that ndm_math.h states, for every argument,
 * against at least 62 bits. tests/kernel/ndm measures them against floating point and
 * checks the entries of all tables.
 */

struct point {
	s32 x, y;
};

/* The nearest numbers to tanh(x / 2^15) * 2^15, at most 32767. */
static const struct point tanh_points[] = {
	{ 0, 0 }, { 1, 1 }, { 100, 100 }, { 511, 511 }, { 512, 512 },
	{ 513, 513 }, { 5000, 4962 }, { 16384, 15143 }, { 32767, 24955 },
	{ 32768, 24956 }, { 40000, 27521 }, { 65536, 31589 },
	{ 100000, 32622 }, { 131072, 32746 }, { 200000, 32767 },
	{ 262143, 32767 }, { 262144, 32767 },
};

static void tanh_test(struct kunit *test)
{
	s32 last = -1;
	s32 x;
	int i;

	for (i = 0; i < ARRAY_SIZE(tanh_points); i++) {
		const struct point *p = &tanh_points[i];

		KUNIT_EXPECT_LE(test, abs(ndm_tanh(p->x) - p->y), 2);
		KUNIT_EXPECT_EQ(test, ndm_tanh(-p->x), -ndm_tanh(p->x));
	}
	for (x = 0; x <= NDM_TANH_LIMIT << 15; x++) {
		s32 y = ndm_tanh(x);

		if (y < last || y > S16_MAX)
			KUNIT_FAIL(test, "tanh(%d) is %d after %d", x, y, last);
		last = y;
	}
	KUNIT_EXPECT_EQ(test, ndm_tanh(S32_MAX), S16_MAX);
}

/*
 * tanh(x) = (1 - e^-2x) / (1 + e^-2x); e^-2x is Q62. Each step multiplies it by
 * e^(-2/2^15) in Q63, which loses less than 2^-43 in total.
 */
static void tanh_error_test(struct kunit *test)
{
	const u64 step = 9222809104080874160ULL;
	const s64 unit = 1 << 15;	/* of the result, in Q30 */
	u64 exponential = 1ULL << 62;
	s64 worst = 0;
	s32 x;

	for (x = 0; x <= NDM_TANH_LIMIT << 15; x++) {
		s64 exact = div64_u64((1ULL << 62) - exponential,
				      ((1ULL << 62) + exponential) >> 30);
		/* The result is at most S16_MAX. */
		s64 error = abs(ndm_tanh(x) * unit - min(exact, S16_MAX * unit));

		worst = max(worst, error);
		exponential = mul_u64_u64_shr(exponential, step, 63);
	}
	/* 1.54 units; much less would make the stated error outdated */
	KUNIT_EXPECT_LE(test, worst, 154 * unit / 100);
	KUNIT_EXPECT_GT(test, worst, 153 * unit / 100);
}

/* The nearest numbers to 2^(x / 2^14) * 2^16. */
static const struct point exp2_points[] = {
	{ -16384, 32768 }, { -16383, 32769 }, { -12000, 39446 },
	{ -8192, 46341 }, { -5461, 52017 }, { -1, 65533 }, { 0, 65536 },
	{ 1, 65539 }, { 127, 65889 }, { 128, 65892 }, { 5461, 82569 },
	{ 8192, 92682 }, { 12345, 110484 }, { 16383, 131066 },
	{ 16384, 131072 },
};

static void exp2_test(struct kunit *test)
{
	u32 last = 0;
	s32 x;
	int i;

	for (i = 0; i < ARRAY_SIZE(exp2_points); i++)
		KUNIT_EXPECT_LE(test, abs((s32)ndm_exp2(exp2_points[i].x) -
					  exp2_points[i].y), 2);
	for (x = S16_MIN; x <= S16_MAX; x++) {
		u32 y = ndm_exp2(x);

		if (y < last || y < 1 << 15 || y > 2 << 16)
			KUNIT_FAIL(test, "exp2(%d) is %u after %u", x, y, last);
		last = y;
	}
}

/*
 * 2^x is Q62 and begins with 2^-1. Each step multiplies it by 2^(2^-14), which loses
 * at most a relative 2^-45.
 */
static void exp2_error_test(struct kunit *test)
{
	const u64 step = 4611881126141011236ULL;
	const s64 unit = 1LL << 46;	/* of the result, in Q62 */
	u64 exact = 1ULL << 61;
	s64 worst = 0, relative = 0;
	s32 x;

	for (x = -(1 << 14); x <= 1 << 14; x++) {
		s64 error = abs((s64)(ndm_exp2(x) * unit - exact));

		worst = max(worst, error);
		/* In units of 2^-30. */
		relative = max_t(s64, relative, div64_u64(error, exact >> 30));
		exact = mul_u64_u64_shr(exact, step, 62);
	}
	/* 1.34 units and 3.1e-5; much less would make the stated errors outdated */
	KUNIT_EXPECT_LE(test, worst, 134 * (unit / 100));
	KUNIT_EXPECT_GT(test, worst, 133 * (unit / 100));
	KUNIT_EXPECT_LE(test, relative, 33286);
	KUNIT_EXPECT_GT(test, relative, 32212);
}

struct octave_case {
	u32 a, b;
	s32 quarters;
};

static const struct octave_case octave_cases[] = {
	{ 1, 1, 0 }, { 2, 1, 4 }, { 1, 2, -4 }, { 0, 0, 0 },
	{ 118920, 100000, 0 }, { 118921, 100000, 1 }, { 141421, 100000, 1 },
	{ 141422, 100000, 2 }, { 168179, 100000, 2 }, { 168180, 100000, 3 },
	{ 199999, 100000, 3 }, { U32_MAX, 1, 127 }, { 1, U32_MAX, -128 },
	{ U32_MAX, U32_MAX, 0 },
};

static void quarter_octave_test(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(octave_cases); i++) {
		const struct octave_case *c = &octave_cases[i];

		KUNIT_EXPECT_EQ(test, ndm_quarter_octave(c->a, c->b),
				c->quarters);
	}
}

/* Whether a / b is at least 2^(@quarters / 4), for a and b of 16 bits. */
static bool is_at_least(u64 a, u64 b, s32 quarters)
{
	u64 a4 = a * a * a * a, b4 = b * b * b * b;

	if (quarters > 63 || quarters < -63)
		return quarters < 0;
	if (quarters >= 0)
		return a4 >> quarters >= b4;
	return a4 >= ((b4 - 1) >> -quarters) + 1;
}

/*
 * The exact logarithm of the ratios of all 16-bit numbers to these, and of their
 * inverses. Fourth powers fit into 64 bits, so there is no rounding error.
 */
static void quarter_octave_exact_test(struct kunit *test)
{
	static const u32 divisors[] = { 1, 3, 1000, 19683, 40000, 65535 };
	s32 last, up, down;
	u32 a, b;
	int i;

	for (i = 0; i < ARRAY_SIZE(divisors); i++) {
		b = divisors[i];
		last = -128;
		for (a = 1; a <= U16_MAX; a++) {
			up = ndm_quarter_octave(a, b);
			down = ndm_quarter_octave(b, a);
			if (up < last || !is_at_least(a, b, up) ||
			    is_at_least(a, b, up + 1) || !is_at_least(b, a, down) ||
			    is_at_least(b, a, down + 1))
				KUNIT_FAIL(test, "%u / %u is %d, %d inverted",
					   a, b, up, down);
			last = up;
		}
	}
}

/* The binary entropy of k in 16 is symmetric: 0 at both ends and 1 in the middle. */
static void entropy_test(struct kunit *test)
{
	int k;

	KUNIT_EXPECT_EQ(test, ndm_binary_entropy_table[0], 0);
	KUNIT_EXPECT_EQ(test, ndm_binary_entropy_table[8], 4096);
	for (k = 0; k < 8; k++) {
		KUNIT_EXPECT_LT(test, ndm_binary_entropy_table[k],
				ndm_binary_entropy_table[k + 1]);
		KUNIT_EXPECT_EQ(test, ndm_binary_entropy_table[k],
				ndm_binary_entropy_table[16 - k]);
	}
	/* -p log2 p: two halves have an entropy of 1, sixteen sixteenths of 4. */
	KUNIT_EXPECT_EQ(test, 2 * ndm_plogp_table[8], 4096);
	KUNIT_EXPECT_EQ(test, ndm_plogp_table[16], 0);
	KUNIT_EXPECT_EQ(test, 16 * ndm_plogp_table[1], 4 * 4096);
}

/* -- the network ----------------------------------------------------------- */

static void extreme_weights_test(struct kunit *test)
{
	static const s16 extremes[] = { S16_MIN, S16_MAX };
	struct ndm_model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct ndm_network *network = kunit_kzalloc(test, sizeof(*network),
						    GFP_KERNEL);
	s16 h[NDM_HIDDEN_MAX], x[NDM_INPUTS], out[NDM_OUTPUTS];
	int weight, state, input, frac, i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	KUNIT_ASSERT_NOT_NULL(test, network);
	for (i = 0; i < 16; i++) {
		weight = extremes[i & 1];
		state = extremes[i >> 1 & 1];
		input = extremes[i >> 2 & 1];
		frac = i >> 3 ? NDM_BLOB_FRAC_MAX : 0;
		m->hidden = NDM_HIDDEN_MAX;
		memset(m->row_frac, frac, sizeof(m->row_frac));
		memset(m->out_frac, frac, sizeof(m->out_frac));
		memset16((u16 *)m->w, weight, sizeof(m->w) / 2);
		memset16((u16 *)m->u, weight, sizeof(m->u) / 2);
		memset16((u16 *)m->b, weight, sizeof(m->b) / 2);
		memset16((u16 *)m->v, weight, sizeof(m->v) / 2);
		memset16((u16 *)m->c, weight, sizeof(m->c) / 2);
		memset16((u16 *)h, state, ARRAY_SIZE(h));
		memset16((u16 *)x, input, ARRAY_SIZE(x));
		ndm_core_prepare(network, m);
		ndm_core_step(network, h, x, out);
		/* With state and inputs of one sign, all terms have one sign. */
		KUNIT_EXPECT_LE(test, abs(out[0]), 1 << NDM_ACTION_FRAC);
		if (!frac && state == input)
			KUNIT_EXPECT_EQ(test, h[0],
					(weight < 0) == (input < 0) ?
					S16_MAX : -S16_MAX);
	}
}

/* -- model files ----------------------------------------------------------- */

#define HIDDEN 3
#define INPUTS NDM_INPUTS_MIN	/* of a model made before the others */
#define FIRST_U (HIDDEN * INPUTS - 20)
#define ENVELOPE "rtt_ms 10..300"

static void put_le(u8 *at, u64 value, int bytes)
{
	while (bytes--) {
		*at++ = value;
		value >>= 8;
	}
}

/* A file with HIDDEN units; its weights are -20, -19, ... */
static u8 *new_blob(struct kunit *test, size_t *size)
{
	size_t envelope = strlen(ENVELOPE);
	u8 *data, *at;
	int i;

	*size = ndm_blob_size(HIDDEN, INPUTS, envelope);
	data = kunit_kzalloc(test, *size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	memcpy(data, NDM_BLOB_MAGIC, 8);
	put_le(data + 8, *size, 4);
	put_le(data + 12, NDM_MODEL_FORMAT, 2);
	put_le(data + 14, NDM_SCHEMA_VERSION, 2);
	data[16] = HIDDEN;
	data[17] = INPUTS;
	data[18] = NDM_OUTPUTS;
	data[19] = NDM_BLOB_LAYOUT;
	put_le(data + 20, 1000000007, 8);
	strscpy(data + 28, "name", NDM_BLOB_TEXT);
	strscpy(data + 28 + NDM_BLOB_TEXT, "profile", NDM_BLOB_TEXT);
	strscpy(data + 28 + 2 * NDM_BLOB_TEXT, "revision", NDM_BLOB_TEXT);
	put_le(data + NDM_BLOB_HEAD - 2, envelope, 2);
	memset(data + NDM_BLOB_HEAD, 7, HIDDEN + NDM_OUTPUTS);
	at = data + NDM_BLOB_HEAD + HIDDEN + NDM_OUTPUTS;
	for (i = 0; at < data + *size - envelope - NDM_BLOB_DIGEST; i++, at += 2)
		put_le(at, i - 20, 2);
	memcpy(at, ENVELOPE, envelope);
	return data;
}

/* Too large for the stack. */
static struct ndm_described_model *new_model(struct kunit *test)
{
	struct ndm_described_model *to = kunit_kzalloc(test, sizeof(*to), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, to);
	return to;
}

static void blob_test(struct kunit *test)
{
	struct ndm_described_model *to = new_model(test);
	size_t size;
	u8 *data = new_blob(test, &size);
	int i;

	KUNIT_ASSERT_NULL(test, ndm_blob_parse(data, size, &to->model, &to->facts));
	KUNIT_EXPECT_EQ(test, to->model.hidden, HIDDEN);
	KUNIT_EXPECT_EQ(test, to->model.out_frac[1], 7);
	KUNIT_EXPECT_EQ(test, to->model.w[0][0], -20);
	KUNIT_EXPECT_EQ(test, to->model.w[2][INPUTS - 1], FIRST_U - 1);
	for (i = INPUTS; i < NDM_INPUTS; i++)
		KUNIT_EXPECT_EQ(test, to->model.w[0][i], 0);
	KUNIT_EXPECT_EQ(test, to->model.u[0][0], FIRST_U);
	KUNIT_EXPECT_EQ(test, to->model.u[2][2], FIRST_U + 8);
	KUNIT_EXPECT_EQ(test, to->model.u[2][3], 0);
	KUNIT_EXPECT_EQ(test, to->model.b[0], FIRST_U + 9);
	KUNIT_EXPECT_EQ(test, to->model.v[1][2], FIRST_U + 17);
	KUNIT_EXPECT_EQ(test, to->model.c[1], FIRST_U + 19);
	KUNIT_EXPECT_EQ(test, to->facts.decisions, 1000000007ULL);
	KUNIT_EXPECT_STREQ(test, to->facts.name, "name");
	KUNIT_EXPECT_STREQ(test, to->facts.envelope, ENVELOPE);
}

struct refused_case {
	const char *name;
	int at, value;
};

static const struct refused_case refused_cases[] = {
	{ "magic", 0, 'X' },
	{ "size", 8, 1 },
	{ "format", 12, NDM_MODEL_FORMAT + 1 },
	{ "schema", 14, NDM_SCHEMA_VERSION + 1 },
	{ "no hidden units", 16, 0 },
	{ "too many hidden units", 16, NDM_HIDDEN_MAX + 1 },
	{ "hidden units do not fit the size", 16, HIDDEN + 1 },
	{ "too many inputs", 17, NDM_INPUTS + 1 },
	{ "too few inputs", 17, NDM_INPUTS_MIN - 1 },
	{ "outputs", 18, NDM_OUTPUTS - 1 },
	{ "layout", 19, NDM_BLOB_LAYOUT + 1 },
	{ "empty name", 28, 0 },
	{ "control character in the name", 28, 27 },
	{ "no zeros after the name", 28 + 63, 'x' },
	{ "envelope too long", NDM_BLOB_HEAD - 1, 0xff },
	{ "scale of a row", NDM_BLOB_HEAD, NDM_BLOB_FRAC_MAX + 1 },
	{ "scale of an output", NDM_BLOB_HEAD + HIDDEN + 1, 0xff },
	{ "control character in the envelope", -NDM_BLOB_DIGEST - 1, '\n' },
};

KUNIT_ARRAY_PARAM_DESC(refused, refused_cases, name);

static void refused_test(struct kunit *test)
{
	const struct refused_case *c = test->param_value;
	struct ndm_described_model *to = new_model(test);
	size_t size;
	u8 *data = new_blob(test, &size);

	data[c->at < 0 ? size + c->at : c->at] = c->value;
	KUNIT_EXPECT_NOT_NULL(test, ndm_blob_parse(data, size, &to->model, &to->facts));
}

/* Each length has its own allocation, so that KASAN sees reads beyond its end. */
static void truncated_test(struct kunit *test)
{
	struct ndm_described_model *to = new_model(test);
	size_t size, length;
	u8 *data = new_blob(test, &size);
	u8 *truncated;

	for (length = 1; length < size; length++) {
		truncated = kmemdup(data, length, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, truncated);
		if (length >= 12)
			put_le(truncated + 8, length, 4);
		KUNIT_EXPECT_NOT_NULL(test,
				      ndm_blob_parse(truncated, length, &to->model,
						     &to->facts));
		kfree(truncated);
	}
}

static struct kunit_case ndm_cases[] = {
	KUNIT_CASE(tanh_test),
	KUNIT_CASE(tanh_error_test),
	KUNIT_CASE(exp2_test),
	KUNIT_CASE(exp2_error_test),
	KUNIT_CASE(quarter_octave_test),
	KUNIT_CASE(quarter_octave_exact_test),
	KUNIT_CASE(entropy_test),
	KUNIT_CASE(extreme_weights_test),
	KUNIT_CASE(blob_test),
	KUNIT_CASE_PARAM(refused_test, refused_gen_params),
	KUNIT_CASE(truncated_test),
	{}
};

static struct kunit_suite ndm_suite = {
	.name = "ndm",
	.test_cases = ndm_cases,
};

kunit_test_suite(ndm_suite);

MODULE_DESCRIPTION("KUnit tests of NDM's arithmetic and model files");
MODULE_LICENSE("GPL");
