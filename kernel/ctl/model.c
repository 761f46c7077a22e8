// SPDX-License-Identifier: GPL-2.0
/* A model file: the parser is the kernel module's. */
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

void digest_text(char text[65], const __u8 *digest)
{
	int i;

	for (i = 0; i < 32; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
}

const char *read_model(const char *file, struct ndm_described_model *model)
{
	static char text[65];
	static __u8 data[NDM_BLOB_MAX + 1];
	__u8 digest[EVP_MAX_MD_SIZE];
	const char *problem;
	size_t size;
	FILE *stream = fopen(file, "rb");

	if (!stream)
		fail("%s: %s", file, strerror(errno));
	size = fread(data, 1, sizeof(data), stream);
	fclose(stream);
	if (size < NDM_BLOB_DIGEST || size > NDM_BLOB_MAX)
		fail("%s is refused: its size is not that of a model", file);
	if (!EVP_Digest(data, size - NDM_BLOB_DIGEST, digest, NULL, EVP_sha256(), NULL))
		fail("%s: SHA-256 cannot be computed", file);
	if (memcmp(digest, data + size - NDM_BLOB_DIGEST, NDM_BLOB_DIGEST))
		fail("%s is refused: its SHA-256 does not match its content", file);
	problem = ndm_blob_parse(data, size, &model->model, &model->facts);
	if (problem)
		fail("%s is refused: %s", file, problem);
	digest_text(text, digest);
	return text;
}
