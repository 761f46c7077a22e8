// SPDX-License-Identifier: GPL-2.0
/*
 * Signatures of model files: FILE.sig has 64 bytes, the Ed25519 signature (RFC 8032) of all of
 * FILE. The administrator's public keys are PEM files. Where there is one, each model needs a
 * signature.
 */
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"

#ifndef NDM_KEYS_FOLDER
#define NDM_KEYS_FOLDER "/etc/ndm/keys"
#endif
#define KEY_SUFFIX ".pem"
#define SIGNATURE_SIZE 64

static bool read_signature(const char *file, unsigned char *signature)
{
	unsigned char more[SIGNATURE_SIZE + 1];
	char path[1024];
	FILE *stream;
	size_t size;

	snprintf(path, sizeof(path), "%s.sig", file);
	stream = open_regular(path);
	if (!stream && errno == ENOENT)
		return false;
	if (!stream)
		fail("%s: %s", path, strerror(errno));
	size = fread(more, 1, sizeof(more), stream);
	fclose(stream);
	if (size != SIGNATURE_SIZE)
		fail("%s is refused: an Ed25519 signature has 64 bytes", path);
	memcpy(signature, more, SIGNATURE_SIZE);
	return true;
}

static EVP_PKEY *read_key(const char *path)
{
	FILE *stream = open_regular(path);
	EVP_PKEY *key;

	if (!stream)
		fail("%s: %s", path, strerror(errno));
	key = PEM_read_PUBKEY(stream, NULL, NULL, NULL);
	fclose(stream);
	if (!key || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519)
		fail("%s is no public key of Ed25519 in PEM", path);
	return key;
}

static bool has_signed(EVP_PKEY *key, const unsigned char *signature, const void *data, size_t size)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
		    EVP_DigestVerify(context, signature, SIGNATURE_SIZE, data, size) == 1;

	EVP_MD_CTX_free(context);
	return good;
}

/* A file by another name would otherwise switch the signatures off without a word. */
static int is_key(const struct dirent *entry)
{
	if (entry->d_name[0] == '.')
		return false;
	if (!has_suffix(entry->d_name, KEY_SUFFIX))
		fail(NDM_KEYS_FOLDER "/%s is no key, whose name ends in " KEY_SUFFIX
		     ": rename it, or move it to another folder", entry->d_name);
	return true;
}

const char *signed_by(const char *file, const void *data, size_t size)
{
	static char signer[256];
	unsigned char signature[SIGNATURE_SIZE];
	bool is_signed = read_signature(file, signature), good = false;
	struct dirent **keys;
	int count = scandir(NDM_KEYS_FOLDER, &keys, is_key, alphasort), i;

	if (count < 0 && errno != ENOENT)
		fail(NDM_KEYS_FOLDER ": %s", strerror(errno));
	if (count <= 0 && !is_signed)
		return NULL;
	if (count <= 0)
		fail("%s.sig cannot be checked: put the public key into " NDM_KEYS_FOLDER, file);
	if (!is_signed)
		fail("%s is refused: it has no signature %s.sig, and " NDM_KEYS_FOLDER " has keys",
		     file, file);
	for (i = 0; i < count && !good; i++) {
		char path[sizeof(NDM_KEYS_FOLDER) + 257];
		EVP_PKEY *key;

		snprintf(path, sizeof(path), NDM_KEYS_FOLDER "/%s", keys[i]->d_name);
		key = read_key(path);
		good = has_signed(key, signature, data, size);
		EVP_PKEY_free(key);
		if (good)
			snprintf(signer, sizeof(signer), "%.255s", keys[i]->d_name);
	}
	if (!good)
		fail("%s is refused: no key in " NDM_KEYS_FOLDER " has signed it", file);
	return signer;
}
