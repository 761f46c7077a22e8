// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the parser of model files and on the network that it fills, with
 * ASan and UBSan: `make fuzz`.
 *
 * The input is a file, without the SHA-256 that would keep the fuzzer out, and
 * behind it inputs of the network. A file that is taken must be what it says it
 * is, and whatever its weights, decisions on any inputs and any state stay in
 * range.
 */
#include <stdlib.h>
#include <string.h>

#include "../ndm_blob.h"
#include "require.h"

static void decide(const struct ndm_model *m, const u8 *data, size_t size)
{
	s16 h[NDM_HIDDEN_MAX], x[NDM_INPUTS], out[NDM_OUTPUTS];
	size_t at = 0;
	int k;

	memset(h, 0, sizeof(h));
	if (size >= sizeof(h)) {
		memcpy(h, data, sizeof(h));
		at = sizeof(h);
	}
	for (; size - at >= sizeof(x); at += sizeof(x)) {
		memcpy(x, data + at, sizeof(x));
		ndm_core_step(m, h, x, out);
		for (k = 0; k < NDM_OUTPUTS; k++)
			REQUIRE(out[k] >= -(1 << NDM_ACTION_FRAC) &&
				out[k] <= 1 << NDM_ACTION_FRAC);
		for (k = 0; k < m->hidden; k++)
			REQUIRE(h[k] >= -32767);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct ndm_blob_facts facts;
	struct ndm_model m;
	const char *problem;
	size_t file = size;
	u8 *copy;

	/* What the file says of its size parts it from the inputs. */
	if (size >= 12 && ndm_blob_u32(data + 8) < size)
		file = ndm_blob_u32(data + 8);
	copy = malloc(file ? file : 1);	/* so that ASan sees its very end */
	memcpy(copy, data, file);
	problem = ndm_blob_parse(copy, file, &m, &facts);
	free(copy);
	if (problem) {
		REQUIRE(strlen(problem) > 10);
		return 0;
	}
	REQUIRE(file <= NDM_BLOB_MAX);
	REQUIRE(m.hidden >= 1 && m.hidden <= NDM_HIDDEN_MAX);
	REQUIRE(strlen(facts.name) && strlen(facts.name) < NDM_BLOB_TEXT);
	REQUIRE(strlen(facts.envelope) <= NDM_BLOB_ENVELOPE_MAX);
	decide(&m, data + file, size - file);
	return 0;
}
