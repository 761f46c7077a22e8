/* SPDX-License-Identifier: GPL-2.0 */
/* Reads libFuzzer's bytes from front to back. */
#ifndef NDM_FUZZ_INPUT_H
#define NDM_FUZZ_INPUT_H

#include <stdbool.h>
#include <string.h>

#include <linux/types.h>

struct input {
	const u8 *data;
	size_t left;
};

/* Copies the next @size bytes; false, without a copy, if there are fewer. */
static inline bool take(struct input *in, void *to, size_t size)
{
	if (in->left < size)
		return false;
	memcpy(to, in->data, size);
	in->data += size;
	in->left -= size;
	return true;
}

#endif /* NDM_FUZZ_INPUT_H */
