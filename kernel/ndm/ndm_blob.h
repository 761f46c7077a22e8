/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A model as a file, written by export/formats/blob.py and passed to tcp_ndm by the
 * firmware loader. Layout, little endian, no padding (H hidden units, I inputs,
 * O outputs):
 *
 *	8	magic "NDMMODEL"
 *	4	size of the whole file, u32
 *	2	format, u16		2	schema version, u16
 *	1	H	1	I	1	O	1	layout
 *	8	decisions seen in training, u64
 *	64	name	64	profile	64	git revision
 *	32	SHA-256 of the float policy
 *	2	E, u16: bytes of the envelope
 *	H	row_frac	O	out_frac
 *	2 each	s16: w (H, I), u (H, H), b (H), v (O, H), c (O)
 *	E	envelope: what it was trained for
 *	32	SHA-256 of everything before
 *
 * Texts are printable ASCII; the three of 64 bytes are padded with at least one
 * zero.
 *
 * I is NDM_INPUTS_MIN to NDM_INPUTS. A model has weight 0 for the inputs that it
 * lacks.
 *
 * Pure: bytes in, a model out. The caller checks the SHA-256, which detects changed
 * bits; the parser checks every field nevertheless.
 */
#ifndef NDM_BLOB_H
#define NDM_BLOB_H

#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "ndm_core.h"

#define NDM_BLOB_MAGIC "NDMMODEL"
#define NDM_BLOB_LAYOUT 2
#define NDM_BLOB_DIGEST 32
#define NDM_BLOB_TEXT 64
#define NDM_BLOB_ENVELOPE_MAX 1024
#define NDM_BLOB_HEAD (8 + 4 + 2 + 2 + 4 + 8 + 3 * NDM_BLOB_TEXT + 32 + 2)
/* Size of the largest model with the longest envelope. */
#define NDM_BLOB_MAX							     \
	(NDM_BLOB_HEAD + NDM_HIDDEN_MAX + NDM_OUTPUTS +			     \
	 2 * (NDM_HIDDEN_MAX * (NDM_INPUTS + NDM_HIDDEN_MAX + 1) +	     \
	      NDM_OUTPUTS * (NDM_HIDDEN_MAX + 1)) +			     \
	 NDM_BLOB_ENVELOPE_MAX + NDM_BLOB_DIGEST)

/*
 * With more fraction bits a shift in ndm_core_step() would exceed 64 bits. The
 * weights themselves cannot overflow (ndm_core.h).
 */
#define NDM_BLOB_FRAC_MAX 22

/* The origin of a model. */
struct ndm_blob_facts {
	u64 decisions;
	char name[NDM_BLOB_TEXT];
	char profile[NDM_BLOB_TEXT];
	char revision[NDM_BLOB_TEXT];
	u8 sha256[32];
	char envelope[NDM_BLOB_ENVELOPE_MAX + 1];
};

/* A model from a file or compiled in. */
struct ndm_described_model {
	struct ndm_model model;
	struct ndm_blob_facts facts;
};

static inline u16 ndm_blob_u16(const u8 *at)
{
	return at[0] | at[1] << 8;
}

static inline u32 ndm_blob_u32(const u8 *at)
{
	return ndm_blob_u16(at) | (u32)ndm_blob_u16(at + 2) << 16;
}

static inline u64 ndm_blob_u64(const u8 *at)
{
	return ndm_blob_u32(at) | (u64)ndm_blob_u32(at + 4) << 32;
}

static inline size_t ndm_blob_size(size_t hidden, size_t inputs,
				   size_t envelope)
{
	size_t scales = hidden + NDM_OUTPUTS;
	size_t numbers = hidden * (inputs + hidden + 1) +
			 NDM_OUTPUTS * (hidden + 1);

	return NDM_BLOB_HEAD + scales + 2 * numbers + envelope +
	       NDM_BLOB_DIGEST;
}

static inline bool ndm_blob_printable(const u8 *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return true;
}

/* Copies a text of NDM_BLOB_TEXT bytes to @to; false if it is invalid. */
static inline bool ndm_blob_text(const u8 *from, char *to)
{
	size_t length = strnlen((const char *)from, NDM_BLOB_TEXT);
	size_t i;

	if (!length || length == NDM_BLOB_TEXT ||
	    !ndm_blob_printable(from, length))
		return false;
	for (i = length; i < NDM_BLOB_TEXT; i++)
		if (from[i])
			return false;
	memcpy(to, from, NDM_BLOB_TEXT);
	return true;
}

/*
 * Copies (rows, columns) numbers to an array with @stride columns; returns the
 * position after them.
 */
static inline const u8 *ndm_blob_numbers(const u8 *at, s16 *to, int rows,
					 int columns, int stride)
{
	int row, column;

	for (row = 0; row < rows; row++)
		for (column = 0; column < columns; column++, at += 2)
			to[row * stride + column] = (s16)ndm_blob_u16(at);
	return at;
}

/**
 * ndm_blob_parse - read a model from a file
 * @data: the content of the file
 * @size: its size in bytes
 * @m: the model; undefined when the file is refused
 * @facts: the model's origin; undefined when the file is refused
 *
 * Return: NULL, or the reason why the file is refused.
 */
static inline const char *ndm_blob_parse(const u8 *data, size_t size,
					 struct ndm_model *m,
					 struct ndm_blob_facts *facts)
{
	const u8 *texts = data + 28;
	const u8 *tail = texts + 3 * NDM_BLOB_TEXT;
	const u8 *at = data + NDM_BLOB_HEAD;
	u32 envelope;
	int hidden, inputs, i;

	if (size < NDM_BLOB_HEAD + NDM_BLOB_DIGEST)
		return "it is shorter than a header";
	if (memcmp(data, NDM_BLOB_MAGIC, 8))
		return "it does not begin with " NDM_BLOB_MAGIC;
	if (ndm_blob_u32(data + 8) != size)
		return "its size is not the one that its header states";
	if (data[19] != NDM_BLOB_LAYOUT)
		return "its layout has another version: export it again";
	if (ndm_blob_u16(data + 12) != NDM_MODEL_FORMAT)
		return "its format has another version: export it again";
	if (ndm_blob_u16(data + 14) != NDM_SCHEMA_VERSION)
		return "its inputs and outputs have another version: train it again";
	hidden = data[16];
	if (hidden < 1 || hidden > NDM_HIDDEN_MAX)
		return "it has no hidden units, or too many";
	inputs = data[17];
	if (inputs < NDM_INPUTS_MIN || inputs > NDM_INPUTS ||
	    data[18] != NDM_OUTPUTS)
		return "it has another number of inputs or outputs";
	envelope = ndm_blob_u16(tail + 32);
	if (envelope > NDM_BLOB_ENVELOPE_MAX)
		return "its envelope is too long";
	if (size != ndm_blob_size(hidden, inputs, envelope))
		return "its size does not fit its dimensions";

	memset(m, 0, sizeof(*m));
	memset(facts, 0, sizeof(*facts));
	if (!ndm_blob_text(texts, facts->name) ||
	    !ndm_blob_text(texts + NDM_BLOB_TEXT, facts->profile) ||
	    !ndm_blob_text(texts + 2 * NDM_BLOB_TEXT, facts->revision))
		return "a text is empty, not terminated or not printable";
	facts->decisions = ndm_blob_u64(data + 20);
	memcpy(facts->sha256, tail, sizeof(facts->sha256));

	for (i = 0; i < hidden + NDM_OUTPUTS; i++)
		if (at[i] > NDM_BLOB_FRAC_MAX)
			return "a scale has so many fraction bits that a sum could overflow";
	m->hidden = hidden;
	memcpy(m->row_frac, at, hidden);
	memcpy(m->out_frac, at + hidden, NDM_OUTPUTS);
	at += hidden + NDM_OUTPUTS;
	at = ndm_blob_numbers(at, m->w[0], hidden, inputs, NDM_INPUTS);
	at = ndm_blob_numbers(at, m->u[0], hidden, hidden, NDM_HIDDEN_MAX);
	at = ndm_blob_numbers(at, m->b, 1, hidden, NDM_HIDDEN_MAX);
	at = ndm_blob_numbers(at, m->v[0], NDM_OUTPUTS, hidden, NDM_HIDDEN_MAX);
	at = ndm_blob_numbers(at, m->c, 1, NDM_OUTPUTS, NDM_OUTPUTS);
	if (!ndm_blob_printable(at, envelope))
		return "its envelope is not printable";
	memcpy(facts->envelope, at, envelope);
	return NULL;
}

#endif /* NDM_BLOB_H */
