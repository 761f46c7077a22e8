// SPDX-License-Identifier: GPL-2.0
/*
 * Opens the BPF object for the running kernel.
 *
 * Until Linux 7.0 a congestion control hears of the start of sending by cwnd_event(), from 7.1 on
 * by cwnd_event_tx_start(). libbpf refuses a structure with a member that the kernel's lacks, and
 * a program has one place in it. So the object has the old member, and its BTF is changed here to
 * give that member the new name.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define STRUCTURE "tcp_congestion_ops"
#define OLD_NAME "cwnd_event"
#define NEW_NAME "cwnd_event_tx_start"

/* Finds a member of STRUCTURE; NULL if it has none of this name. */
static const struct btf_member *find_member(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, STRUCTURE, BTF_KIND_STRUCT);
	const struct btf_type *type;
	const struct btf_member *members;
	const char *title;
	int i;

	if (id < 0)
		return NULL;
	type = btf__type_by_id(btf, id);
	members = btf_members(type);
	for (i = 0; i < btf_vlen(type); i++) {
		title = btf__name_by_offset(btf, members[i].name_off);	/* NULL if damaged */
		if (title && !strcmp(title, name))
			return &members[i];
	}
	return NULL;
}

static bool kernel_has_new_name(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool has;

	if (!btf)
		fail("this kernel has no BTF (/sys/kernel/btf/vmlinux): use the module (docs/guides/install-on-a-server.md)");
	has = find_member(btf, NEW_NAME);
	btf__free(btf);
	return has;
}

static char *read_file(const char *file, size_t *size)
{
	FILE *stream = open_regular(file);
	char *data = NULL;
	long length;

	if (!stream)
		fail("%s: %s", file, strerror(errno));
	if (!fseek(stream, 0, SEEK_END) && (length = ftell(stream)) > 0) {
		rewind(stream);
		data = malloc(length);
		if (data && fread(data, 1, length, stream) == (size_t)length)
			*size = length;
		else
			data = NULL;
	}
	fclose(stream);
	if (!data)
		fail("%s cannot be read", file);
	return data;
}

/* The place of a section in a file's bytes. */
static char *find_section(char *data, size_t size, const char *name, size_t *length)
{
	Elf_Scn *section = NULL;
	char *found = NULL;
	GElf_Shdr header;
	const char *title;
	size_t names;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_memory(data, size);
	if (elf && elf_getshdrstrndx(elf, &names)) {
		elf_end(elf);
		elf = NULL;
	}
	while (elf && !found && (section = elf_nextscn(elf, section))) {
		title = gelf_getshdr(section, &header) ?
			elf_strptr(elf, names, header.sh_name) : NULL;
		/* A damaged file may say that the section is beyond its end. */
		if (title && !strcmp(title, name) && header.sh_offset <= size &&
		    header.sh_size <= size - header.sh_offset) {
			found = data + header.sh_offset;
			*length = header.sh_size;
		}
	}
	elf_end(elf);
	return found;
}

/* Gives the member its new name, which is the end of a program's name in the same BTF. */
static bool rename_member(char *section, size_t length)
{
	const struct btf_header *header = (const void *)section;
	const struct btf_member *member;
	struct btf *btf = btf__new(section, length);
	struct btf_member *place;
	char *strings, *name;
	bool renamed = false;

	if (!btf)
		return false;
	/* libbpf takes the other byte order, too. */
	if (header->magic != BTF_MAGIC) {
		btf__free(btf);
		return false;
	}
	member = find_member(btf, OLD_NAME);
	strings = section + header->hdr_len + header->str_off;
	name = memmem(strings, header->str_len, NEW_NAME, sizeof(NEW_NAME));
	if (member && name) {
		/* libbpf's copy of the types begins with type 1, as the section's do. */
		place = (void *)(section + header->hdr_len + header->type_off +
				 ((const char *)member -
				  (const char *)btf__type_by_id(btf, 1)));
		place->name_off = name - strings;
		renamed = true;
	}
	btf__free(btf);
	return renamed;
}

struct bpf_object *open_object(const char *file)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "ndm");
	struct bpf_object *object;
	char *data, *section;
	size_t size, length;

	data = read_file(file, &size);
	if (kernel_has_new_name()) {
		section = find_section(data, size, BTF_ELF_SEC, &length);
		if (!section || !rename_member(section, length))
			fail("%s is not NDM's object: it has no " STRUCTURE, file);
	}
	object = bpf_object__open_mem(data, size, &options);
	if (!object)
		fail("%s is not a BPF object that libbpf takes: %s", file, strerror(errno));
	free(data);
	return object;
}
