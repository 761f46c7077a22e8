// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer on the files that ndmctl reads, with ASan and UBSan: `make fuzz`.
 *
 * The first byte says what follows: an object, which ndmctl searches for its BTF; BTF, in which it
 * renames a member; or a model file with its signature, whose parser has a target of its own
 * (blob_fuzz.c). What is accepted must be what the bytes say.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of this process, under a name that is known here. */
#define FOLDER_FD 200
#define FOLDER "/proc/self/fd/200"
#define NDM_KEYS_FOLDER FOLDER "/keys"

/* ndmctl ends before it frees the list. */
int scandir_once(const char *folder, struct dirent ***entries,
		 int (*filter)(const struct dirent *), int (*compare)(const struct dirent **,
								      const struct dirent **))
{
	static struct dirent **last;
	static int count;

	while (count > 0)
		free(last[--count]);
	free(last);
	last = NULL;
	count = scandir(folder, &last, filter, compare);
	*entries = last;
	return count;
}

#define scandir scandir_once
#include "../ctl/model.c"
#include "../ctl/object.c"
#include "../ctl/sign.c"
#undef scandir

#include "input.h"
#include "require.h"

enum kind { OBJECT, BTF, MODEL, KINDS };

/* Of a model. Packed like the fuzzer's bytes. */
struct files {
	u8 flags, changed_byte;
	u8 signature[SIGNATURE_SIZE + 1];
} __attribute__((packed));

#define FLAG(n) (files.flags >> (n) & 1)

static jmp_buf refused;
static EVP_PKEY *key;

void fail(const char *format, ...)
{
	(void)format;
	longjmp(refused, 1);
}

/* -- the object -------------------------------------------------------------------- */

static void check_renamed(const char *before, const char *section, size_t length, bool renamed)
{
	size_t i, first = length, last = 0;
	struct btf *btf;

	for (i = 0; i < length; i++) {
		if (before[i] == section[i])
			continue;
		first = min(first, i);
		last = i;
	}
	/* One place of four bytes. */
	REQUIRE(first == length || last - first < 4);
	REQUIRE(renamed || first == length);
	if (!renamed)
		return;
	btf = btf__new(section, length);
	REQUIRE(btf && find_member(btf, NEW_NAME));
	btf__free(btf);
}

static void rename_in(const u8 *data, size_t size)
{
	char *section = malloc(size ? size : 1);	/* ASan sees reads beyond its end */

	memcpy(section, data, size);
	check_renamed((const char *)data, section, size, rename_member(section, size));
	free(section);
}

static void search(const u8 *data, size_t size)
{
	char *object = malloc(size ? size : 1), *section;
	size_t length;

	memcpy(object, data, size);
	section = find_section(object, size, BTF_ELF_SEC, &length);
	if (section) {
		REQUIRE(section >= object && length <= size);
		REQUIRE(section - object <= (ptrdiff_t)(size - length));
		rename_in((const u8 *)section, length);
	}
	free(object);
}

/* -- a model and its signature ------------------------------------------------------ */

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *stream = fopen(path, "wb");

	REQUIRE(stream && fwrite(data, 1, size, stream) == size);
	fclose(stream);
}

static void sign(const u8 *data, size_t size, u8 *signature)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t length = SIGNATURE_SIZE;

	REQUIRE(EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
		EVP_DigestSign(context, signature, &length, data, size) == 1);
	EVP_MD_CTX_free(context);
}

static bool accepts(struct model_file *model)
{
	if (setjmp(refused))
		return false;
	read_model(FOLDER "/model", model);
	return true;
}

static void read_files(const u8 *data, size_t size)
{
	struct ndm_described_model model;
	struct model_file accepted;
	struct input in = { data, size };
	bool sound, is_signed;
	u8 digest[NDM_BLOB_DIGEST];
	u8 *file, *end = NULL;
	struct files files;

	if (!take(&in, &files, sizeof(files)))
		return;
	size = in.left;
	file = malloc(size ? size : 1);
	memcpy(file, in.data, size);
	if (size >= NDM_BLOB_DIGEST) {
		end = file + size - NDM_BLOB_DIGEST;
		EVP_Digest(file, size - NDM_BLOB_DIGEST, digest, NULL, EVP_sha256(), NULL);
		if (FLAG(0))
			memcpy(end, digest, NDM_BLOB_DIGEST);
	}
	sound = size <= NDM_BLOB_MAX && !ndm_blob_parse(file, size, &model.model, &model.facts) &&
		!memcmp(end, digest, NDM_BLOB_DIGEST);
	is_signed = FLAG(2);
	if (FLAG(1)) {
		sign(file, size, files.signature);
		if (FLAG(3))	/* one that is wrong in one place */
			files.signature[files.changed_byte % SIGNATURE_SIZE] ^= 1;
	}
	write_file(FOLDER "/model", file, size);
	unlink(FOLDER "/model.sig");
	if (is_signed)
		write_file(FOLDER "/model.sig", files.signature, SIGNATURE_SIZE + FLAG(4));
	if (FLAG(5))
		REQUIRE(!rename(FOLDER "/keys", FOLDER "/away"));
	if (accepts(&accepted)) {
		REQUIRE(sound && !memcmp(&accepted.content.model, &model.model, sizeof(model.model)));
		REQUIRE(!memcmp(&accepted.content.facts, &model.facts, sizeof(model.facts)));
		REQUIRE(is_signed == !FLAG(5) && !accepted.signer == !is_signed);
		REQUIRE(!is_signed || (FLAG(1) && !FLAG(3) && !FLAG(4)));
	} else {
		REQUIRE(!sound || is_signed == FLAG(5) ||
			(is_signed && (!FLAG(1) || FLAG(3) || FLAG(4))));
	}
	if (FLAG(5))
		REQUIRE(!rename(FOLDER "/away", FOLDER "/keys"));
	free(file);
}

/* -- an input of the fuzzer --------------------------------------------------------- */

static char folder[] = "/tmp/ndm-ctl-fuzz-XXXXXX";

static void remove_folder(void)
{
	unlink(FOLDER "/keys/a.pem");
	rmdir(FOLDER "/keys");
	unlink(FOLDER "/model");
	unlink(FOLDER "/model.sig");
	rmdir(folder);
}

static int no_print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level;
	(void)format;
	(void)arguments;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const u8 seed[32] = "a private key for the fuzzer";
	FILE *stream;

	(void)argc;
	(void)argv;
	libbpf_set_print(no_print);
	REQUIRE(mkdtemp(folder) && dup2(open(folder, O_RDONLY), FOLDER_FD) == FOLDER_FD);
	atexit(remove_folder);
	REQUIRE(!mkdir(FOLDER "/keys", 0700));
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
	stream = fopen(FOLDER "/keys/a.pem", "w");
	REQUIRE(key && stream && PEM_write_PUBKEY(stream, key) == 1);
	fclose(stream);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % KINDS) {
	case OBJECT:
		search(data + 1, size - 1);
		break;
	case BTF:
		rename_in(data + 1, size - 1);
		break;
	case MODEL:
		read_files(data + 1, size - 1);
		break;
	}
	return 0;
}
