// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the parser of model files and the resulting network, with ASan and
 * UBSan: `make fuzz`.
 *
 * The input is a file, followed by a state and inputs of the network. The SHA-256 is
 * not checked, because the fuzzer could not match it. The model of an accepted file
 * must equal the file's numbers, and its decisions those of exact_network.h.
 */
#include <stdlib.h>
#include <string.h>

#include "ndm/ndm_blob.h"
#include "exact_network.h"
#include "input.h"
#include "require.h"

/* Larger than the largest accepted file and the inputs after it. */
#define FILE_MAX 8192

/* Checks (rows, columns) numbers of the file against @row, and skips them in @at. */
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

/* Checks that the model equals the file's content. */
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
	check_numbers(&at, m->w[0], m->hidden, file[17], NDM_INPUTS);
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
 * Splits the input into the file and the rest, and returns the file's size. This is
 * the size in its header. 0 stands for the size that fits its dimensions, with the
 * bytes after the header repeated: one changed byte makes a file with more units.
 */
static size_t split_file(const u8 *data, size_t size, u8 *file)
{
	u32 stated = size < 12 ? size : ndm_blob_u32(data + 8);
	size_t at = 0, fitting;

	if (stated || size <= NDM_BLOB_HEAD) {
		memcpy(file, data, size);
		return stated < size ? stated : size;
	}
	fitting = ndm_blob_size(data[16], data[17],
				ndm_blob_u16(data + NDM_BLOB_HEAD - 2));
	if (fitting > FILE_MAX)
		fitting = FILE_MAX;
	while (at < fitting)
		for (size_t i = at ? NDM_BLOB_HEAD : 0; i < size && at < fitting; i++)
			file[at++] = data[i];
	stated = fitting;
	memcpy(file + 8, &stated, sizeof(stated));
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
	length = split_file(data, size, file);
	copy = malloc(length ? length : 1);	/* ASan sees reads beyond its end */
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
	/* A repeated body is used as state and inputs, too. */
	if (length >= size)
		length = NDM_BLOB_HEAD;
	in = (struct input) { data + length, size - length };
	decide(&m, &in);
	return 0;
}
