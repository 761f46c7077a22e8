// SPDX-License-Identifier: GPL-2.0
/* A model file: the parser is the kernel module's. */
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

#ifndef NDM_MODELS_FOLDER
#define NDM_MODELS_FOLDER "/usr/lib/ndm/models"
#endif
#define SUFFIX ".bin"
#define SCHEME "ndm@" /* before the name of a model where schemes stand: compare.py, model cards */

void digest_text(char text[65], const __u8 *digest)
{
	int i;

	for (i = 0; i < 32; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
}

const char *model_file(const char *name)
{
	static char path[512];
	const char *plain = strncmp(name, SCHEME, strlen(SCHEME)) ? name : name + strlen(SCHEME);

	if (!strcmp(name, NDM_BUILTIN) || strchr(name, '/'))
		return name;
	snprintf(path, sizeof(path), NDM_MODELS_FOLDER "/%s" SUFFIX, plain);
	return access(path, F_OK) ? name : path;
}

bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

FILE *open_regular(const char *file)
{
	struct stat status;

	if (!stat(file, &status) && !S_ISREG(status.st_mode))
		fail("%s is no regular file", file);
	return fopen(file, "rb");
}

static int is_model(const struct dirent *entry)
{
	return has_suffix(entry->d_name, SUFFIX);
}

/* "; the installed models are ..." for what is not the path of a file. */
static const char *or_installed(const char *name)
{
	static char text[1024];
	struct dirent **entries;
	int count = strchr(name, '/') ? 0 : scandir(NDM_MODELS_FOLDER, &entries, is_model, alphasort), i;

	for (i = 0; i < count; i++) {
		const char *file = entries[i]->d_name;
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%.*s",
			 i ? ", " : "; the installed models are ",
			 (int)(strlen(file) - strlen(SUFFIX)), file);
	}
	return text;
}

/* Reads and checks a model file without its signature. @data: filled with it. Returns its size. */
static size_t read_unsigned(const char *file, struct model_file *model,
			    __u8 data[NDM_BLOB_MAX + 1])
{
	__u8 digest[EVP_MAX_MD_SIZE];
	const char *problem;
	size_t size;
	FILE *stream = open_regular(file);

	if (!stream)
		fail("%s: %s%s", file, strerror(errno), or_installed(file));
	size = fread(data, 1, NDM_BLOB_MAX + 1, stream);
	fclose(stream);
	if (size < NDM_BLOB_DIGEST || size > NDM_BLOB_MAX)
		fail("%s is refused: its size is not that of a model", file);
	if (!EVP_Digest(data, size - NDM_BLOB_DIGEST, digest, NULL, EVP_sha256(), NULL))
		fail("%s: SHA-256 cannot be computed", file);
	if (memcmp(digest, data + size - NDM_BLOB_DIGEST, NDM_BLOB_DIGEST))
		fail("%s is refused: its SHA-256 does not match its content", file);
	problem = ndm_blob_parse(data, size, &model->content.model, &model->content.facts);
	if (problem)
		fail("%s is refused: %s", file, problem);
	digest_text(model->sha256, digest);
	return size;
}

void list_models(void)
{
	struct model_file model;
	struct ndm_blob_facts *facts = &model.content.facts;
	__u8 data[NDM_BLOB_MAX + 1];
	struct dirent **entries;
	int count = scandir(NDM_MODELS_FOLDER, &entries, is_model, alphasort), i;
	char path[512];

	if (count < 0)
		fail(NDM_MODELS_FOLDER ": %s", strerror(errno));
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), NDM_MODELS_FOLDER "/%s", entries[i]->d_name);
		read_unsigned(path, &model, data);
		printf("%-12s  %llu decisions on %s; %.120s\n", facts->name,
		       (unsigned long long)facts->decisions, facts->profile, facts->envelope);
	}
}

void read_model(const char *file, struct model_file *model)
{
	__u8 data[NDM_BLOB_MAX + 1];
	size_t size = read_unsigned(file, model, data);

	model->signer = signed_by(file, data, size);
}
