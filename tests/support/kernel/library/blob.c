// SPDX-License-Identifier: GPL-2.0
/* The parser of model files as functions of build/libndm.so. */
#include "ndm/ndm_blob.h"

/* Returns NULL, or why the file is refused; does not check the SHA-256 at its end. */
const char *ndm_user_blob_parse(const u8 *data, size_t size,
				struct ndm_model *m,
				struct ndm_blob_facts *facts)
{
	return ndm_blob_parse(data, size, m, facts);
}

unsigned int ndm_user_blob_facts_size(void)
{
	return sizeof(struct ndm_blob_facts);
}
