// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the parser of model files and on the network that it fills, with
 * ASan and UBSan: `make fuzz`.
 *
 * The input is a file, whose SHA-256 is not looked at: it would keep the fuzzer
 * out. Behind it come a state and inputs of the network. A file that is taken
 * must be what it says it is, to the last number, and decisions of its model are
 * those of exact_network.h.
 */
#include <stdlib.h>
#include <string.h>

#include "ndm/ndm_blob.h"
#include "exact_network.h"
#include "input.h"
#include "require.h"

/* More than any file that is taken, and the inputs behind it. */
#define FILE_MAX 4096

/* (rows, columns) numbers of the file are those in @row, and are taken off. */
static void check_numbers(const u8 **at, const s16 *row, int rows, int columns,
			  int stride)
{
	s16 number;
	int i;

	for (; rows; rows--, row += stride) {
		for (i = 0; i < columns; i++, *at += 2) {
			memcpy(&number, *at, 2);	/* little endian here too */
			REQUIRE(row[i] == number);
		}
		for (; i < stride; i++)
			REQUIRE(!row[i]);
	}
}

/* The model is the one that stands in the file. */
static void check_model(const struct ndm_model *m, const u8 *file, size_t size,
			size_t envelope)
{
	const u8 *at = file + NDM_BLOB_HEAD;
	int i;

	REQUIRE(m->hidden >= 1 && m->hidden <= NDM_HIDDEN_MAX);
	REQUIRE(m->hidden == file[16]);
	for (i = 0; i < m->hidden; i++, at++)
		REQUIRE(m->row_frac[i] == *at && *at <= NDM_BLOB_FRAC_MAX);
	for (i = 0; i < NDM_OUTPUTS; i++, at++)
		REQUIRE(m->out_frac[i] == *at && *at <= NDM_BLOB_FRAC_MAX);
	check_numbers(&at, m->w[0], m->hidden, NDM_INPUTS, NDM_INPUTS);
	check_numbers(&at, m->u[0], m->hidden, m->hidden, NDM_HIDDEN_MAX);
	check_numbers(&at, m->b, 1, m->hidden, NDM_HIDDEN_MAX);
	check_numbers(&at, m->v[0], NDM_OUTPUTS, m->hidden, NDM_HIDDEN_MAX);
	check_numbers(&at, m->c, 1, NDM_OUTPUTS, NDM_OUTPUTS);
	REQUIRE(at + envelope + NDM_BLOB_DIGEST == file + size);
}

static void check_text(const char *text, size_t size)
{
	size_t length = strnlen(text, size), i;

	REQUIRE(length < size);
	for (i = 0; i < length; i++)
		REQUIRE(text[i] >= ' ' && text[i] <= '~');
	for (; i < size; i++)
		REQUIRE(!text[i]);
}

static void check_facts(const struct ndm_blob_facts *facts)
{
	check_text(facts->name, sizeof(facts->name));
	check_text(facts->profile, sizeof(facts->profile));
	check_text(facts->revision, sizeof(facts->revision));
	check_text(facts->envelope, sizeof(facts->envelope));
	REQUIRE(*facts->name && *facts->profile && *facts->revision);
}

static void decide(const struct ndm_model *m, struct input *in)
{
	s16 h[NDM_HIDDEN_MAX] = {}, x[NDM_INPUTS], out[NDM_OUTPUTS];

	take(in, h, sizeof(h));
	while (take(in, x, sizeof(x)))
		checked_step(m, h, x, out);
}

/*
 * A file and the inputs behind it. What the file says of its size parts them; a
 * size of 0 stands for the one that fits its dimensions, with the bytes behind
 * the head again and again: one changed byte makes a file of more units.
 */
static size_t parted(const u8 *data, size_t size, u8 *file)
{
	u32 said = size < 12 ? size : ndm_blob_u32(data + 8);
	size_t at = 0, fitting;

	if (said || size <= NDM_BLOB_HEAD) {
		memcpy(file, data, size);
		return said < size ? said : size;
	}
	fitting = ndm_blob_size(data[16],
				ndm_blob_u16(data + NDM_BLOB_HEAD - 2));
	if (fitting > FILE_MAX)
		fitting = FILE_MAX;
	while (at < fitting)
		for (size_t i = at ? NDM_BLOB_HEAD : 0; i < size && at < fitting; i++)
			file[at++] = data[i];
	said = fitting;
	memcpy(file + 8, &said, sizeof(said));
	return fitting;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u8 file[FILE_MAX];
	struct ndm_blob_facts facts;
	struct ndm_model m;
	const char *problem;
	struct input in;
	size_t length;
	u8 *copy;

	if (size > FILE_MAX)
		return 0;
	length = parted(data, size, file);
	copy = malloc(length ? length : 1);	/* so that ASan sees its very end */
	memcpy(copy, file, length);
	problem = ndm_blob_parse(copy, length, &m, &facts);
	free(copy);
	if (problem) {
		REQUIRE(strlen(problem) > 10);
		return 0;
	}
	REQUIRE(length <= NDM_BLOB_MAX);
	check_facts(&facts);
	check_model(&m, file, length, strlen(facts.envelope));
	/* A repeated body serves as state and inputs too. */
	if (length >= size)
		length = NDM_BLOB_HEAD;
	in = (struct input) { data + length, size - length };
	decide(&m, &in);
	return 0;
}
