/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "bpf.h"

/* ---- programs ---- */

/* Where info has the offset, the number and the element size of an array. */
static const struct {
	uint16_t offset, nr, size; /* size: offset in info, or the size itself */
	bool fixed;
} members[PERCH__BPF_ARRAYS] = {
#define INFO(member) offsetof(struct perch__bpf_info, member)
	[PERCH__BPF_JITED] = { INFO(jited), INFO(jited_length), 1, true },
	[PERCH__BPF_ADDRESSES] = { INFO(addresses), INFO(nr_addresses), 8, true },
	[PERCH__BPF_LENGTHS] = { INFO(lengths), INFO(nr_lengths), 4, true },
	[PERCH__BPF_FUNCTIONS] = { INFO(functions), INFO(nr_functions), INFO(function_size),
				   false },
	[PERCH__BPF_LINES] = { INFO(lines), INFO(nr_lines), INFO(line_size), false },
	[PERCH__BPF_JITED_LINES] = { INFO(jited_lines), INFO(nr_jited_lines), INFO(jited_line_size),
				     false },
	[PERCH__BPF_TAGS] = { INFO(tags), INFO(nr_tags), PERCH__BPF_TAG_SIZE, true },
#undef INFO
};

bool perch__bpf_take(const uint8_t **at, size_t *left, struct perch__bpf_program *program)
{
	uint32_t lengths[2]; /* of info, of data */
	size_t head = sizeof(lengths) + sizeof(program->arrays), copied;

	*program = (struct perch__bpf_program){ 0 };
	if (*left < head)
		return false;
	memcpy(lengths, *at, sizeof(lengths));
	memcpy(&program->arrays, *at + sizeof(lengths), sizeof(program->arrays));
	if (lengths[0] > *left - head || lengths[1] > *left - head - lengths[0])
		return false;
	copied = lengths[0] < sizeof(program->info) ? lengths[0] : sizeof(program->info);
	memcpy(&program->info, *at + head, copied);
	program->data = *at + head + lengths[0];
	program->size = lengths[1];
	*at += head + lengths[0] + lengths[1];
	*left -= head + lengths[0] + lengths[1];
	return true;
}

const uint8_t *perch__bpf_array(const struct perch__bpf_program *program,
				enum perch__bpf_array array, size_t least, uint32_t *nr,
				uint32_t *size)
{
	const uint8_t *info = (const uint8_t *)&program->info;
	uint64_t offset;

	*nr = *size = 0;
	if (!(program->arrays >> array & 1) || !members[array].offset)
		return NULL;
	memcpy(&offset, info + members[array].offset, sizeof(offset));
	memcpy(nr, info + members[array].nr, sizeof(*nr));
	*size = members[array].size;
	if (!members[array].fixed)
		memcpy(size, info + members[array].size, sizeof(*size));
	if (*size < least || offset > program->size ||
	    (uint64_t)*nr * *size > program->size - offset) {
		*nr = 0;
		return NULL;
	}
	return program->data + offset;
}

bool perch__bpf_function(const struct perch__bpf_program *program, uint32_t index,
			 uint64_t *address, uint32_t *length)
{
	uint32_t nr_addresses, nr_lengths, size;
	const uint8_t *addresses =
		perch__bpf_array(program, PERCH__BPF_ADDRESSES, 8, &nr_addresses, &size);
	const uint8_t *lengths =
		perch__bpf_array(program, PERCH__BPF_LENGTHS, 4, &nr_lengths, &size);

	if (!addresses || !lengths || index >= nr_addresses || index >= nr_lengths)
		return false;
	memcpy(address, addresses + (size_t)index * 8, sizeof(*address));
	memcpy(length, lengths + (size_t)index * 4, sizeof(*length));
	return true;
}

/* ---- BTF ---- */

struct btf_header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t header_size;
	uint32_t types, types_size; /* offsets are from the end of the header */
	uint32_t texts, texts_size;
};

struct btf_type {
	uint32_t name;
	uint32_t info; /* bits 0 to 15: number of members; bits 24 to 28: kind */
	uint32_t other;
};

enum { BTF_MAGIC = 0xeb9f };

static bool read_header(const struct perch__btf *btf, struct btf_header *header)
{
	size_t left;

	if (!btf || btf->size < sizeof(*header))
		return false;
	memcpy(header, btf->bytes, sizeof(*header));
	if (header->magic != BTF_MAGIC || header->header_size < sizeof(*header) ||
	    header->header_size > btf->size)
		return false;
	left = btf->size - header->header_size;
	return header->types <= left && header->types_size <= left - header->types &&
	       header->texts <= left && header->texts_size <= left - header->texts;
}

const char *perch__btf_text(const struct perch__btf *btf, uint32_t offset)
{
	struct btf_header header;
	const char *text;

	if (!read_header(btf, &header) || offset >= header.texts_size)
		return NULL;
	text = (const char *)btf->bytes + header.header_size + header.texts + offset;
	return memchr(text, 0, header.texts_size - offset) ? text : NULL;
}

/* Returns the bytes that follow a type, or -1 for a kind that is not known. */
static int64_t bytes_behind(const struct btf_type *type)
{
	/* by kind: bytes, and bytes for each member */
	static const struct {
		uint8_t valid, fixed, each;
	} kinds[] = {
		[1] = { 1, 4, 0 },  [2] = { 1, 0, 0 },	[3] = { 1, 12, 0 },  [4] = { 1, 0, 12 },
		[5] = { 1, 0, 12 }, [6] = { 1, 0, 8 },	[7] = { 1, 0, 0 },   [8] = { 1, 0, 0 },
		[9] = { 1, 0, 0 },  [10] = { 1, 0, 0 }, [11] = { 1, 0, 0 },  [12] = { 1, 0, 0 },
		[13] = { 1, 0, 8 }, [14] = { 1, 4, 0 }, [15] = { 1, 0, 12 }, [16] = { 1, 0, 0 },
		[17] = { 1, 4, 0 }, [18] = { 1, 0, 0 }, [19] = { 1, 0, 12 },
	};
	unsigned kind = type->info >> 24 & 31;

	if (kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[kind].valid)
		return -1;
	return kinds[kind].fixed + (int64_t)kinds[kind].each * (type->info & 0xffff);
}

/* Returns the name of a type, or NULL. Types have the numbers 1, 2, ... */
static const char *type_name(const struct perch__btf *btf, uint32_t id)
{
	struct btf_header header;
	const uint8_t *at;
	uint32_t left;

	if (!id || !read_header(btf, &header))
		return NULL;
	at = btf->bytes + header.header_size + header.types;
	left = header.types_size;
	while (left >= sizeof(struct btf_type)) {
		struct btf_type type;
		int64_t behind;

		memcpy(&type, at, sizeof(type));
		if (!--id)
			return perch__btf_text(btf, type.name);
		behind = bytes_behind(&type);
		if (behind < 0 || (uint64_t)behind > left - sizeof(type))
			return NULL;
		at += sizeof(type) + behind;
		left -= sizeof(type) + (uint32_t)behind;
	}
	return NULL;
}

bool perch__btf_take(const uint8_t **at, size_t *left, uint32_t *id, struct perch__btf *btf)
{
	uint32_t head[2]; /* id, bytes */

	if (*left < sizeof(head))
		return false;
	memcpy(head, *at, sizeof(head));
	if (head[1] > *left - sizeof(head))
		return false;
	*id = head[0];
	*btf = (struct perch__btf){ *at + sizeof(head), head[1] };
	*at += sizeof(head) + head[1];
	*left -= sizeof(head) + head[1];
	return true;
}

/* ---- names ---- */

/* Returns the name without prefix and tag, or NULL. own: 16 bytes and a NUL. */
static const char *short_name(const struct perch__bpf_program *program,
			      const struct perch__btf *btf, uint32_t index, char *own)
{
	uint32_t nr, size, type;
	const uint8_t *functions = perch__bpf_array(program, PERCH__BPF_FUNCTIONS, 8, &nr, &size);

	if (functions && nr) {
		if (index >= nr)
			return NULL;
		memcpy(&type, functions + (size_t)index * size + 4, sizeof(type));
		return type_name(btf, type);
	}
	if (program->info.nr_addresses > 1)
		return "F"; /* as the kernel names functions without BTF */
	memcpy(own, program->info.name, sizeof(program->info.name));
	own[sizeof(program->info.name)] = 0;
	return own[0] ? own : NULL;
}

void perch__bpf_function_name(const struct perch__bpf_program *program,
			      const struct perch__btf *btf, uint32_t index, char *name, size_t size)
{
	char own[sizeof(program->info.name) + 1];
	const char *text = short_name(program, btf, index, own);
	const uint8_t *tag = program->info.tag;
	uint32_t nr, tag_size;
	const uint8_t *tags =
		perch__bpf_array(program, PERCH__BPF_TAGS, PERCH__BPF_TAG_SIZE, &nr, &tag_size);

	if (tags && index < nr)
		tag = tags + (size_t)index * PERCH__BPF_TAG_SIZE;
	snprintf(name, size, "bpf_prog_%02x%02x%02x%02x%02x%02x%02x%02x%s%s", tag[0], tag[1],
		 tag[2], tag[3], tag[4], tag[5], tag[6], tag[7], text ? "_" : "", text ? text : "");
}
