/* SPDX-License-Identifier: MIT */
/* The features BPF_PROG_INFO and BPF_BTF: the BPF programs of the recorded machine. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/bpf.h"
#include "base/no_memory.h"
#include "writer.h"

enum {
	MAX_FEATURE_BYTES = 64 << 20,
	MAX_SEARCHED_BYTES = 1 << 29, /* while names are printed */
	MAX_BTFS = 4096,
};

/* ---- writing ---- */

struct bpf_writer {
	struct perch_writer *writer;
	struct perch__bpf_calls calls;
	struct perch_error *err;
};

/* The number of elements that a feature begins with. */
static uint32_t number(const struct perch__bytes *bytes)
{
	uint32_t nr = 0;

	if (bytes->size >= sizeof(nr))
		memcpy(&nr, bytes->data, sizeof(nr));
	return nr;
}

/* Returns the elements of a feature, and their size; NULL if it has none. */
static const uint8_t *elements(const struct perch__bytes *bytes, size_t *size)
{
	*size = number(bytes) ? bytes->size - sizeof(uint32_t) : 0;
	return *size ? (const uint8_t *)bytes->data + sizeof(uint32_t) : NULL;
}

static bool has_program(const struct perch__bytes *bytes, uint32_t id)
{
	struct perch__bpf_program program;
	size_t left;
	const uint8_t *at = elements(bytes, &left);

	while (perch__bpf_take(&at, &left, &program))
		if (program.info.id == id)
			return true;
	return false;
}

static bool has_btf(const struct perch__bytes *bytes, uint32_t id)
{
	struct perch__btf btf;
	uint32_t found;
	size_t left;
	const uint8_t *at = elements(bytes, &left);

	while (perch__btf_take(&at, &left, &found, &btf))
		if (found == id)
			return true;
	return false;
}

/* Adds an element to a feature. Programs that would make it too large are left out. */
static int add_data(struct bpf_writer *to, enum perch_feature feature, const void *data,
		    size_t size)
{
	struct perch_writer *writer = to->writer;
	struct perch__bytes *bytes = &writer->feature[feature];
	uint32_t nr = number(bytes) + 1;

	if (bytes->size + size > MAX_FEATURE_BYTES)
		return 0;
	if (!bytes->size)
		perch__bytes_put(bytes, &nr, sizeof(nr));
	perch__bytes_put(bytes, data, size);
	if (bytes->failed) {
		perch__bytes_free(bytes);
		writer->header.features[0] &= ~(1ull << feature);
		return PERCH__NO_MEMORY(to->err, "for BPF programs");
	}
	memcpy(bytes->data, &nr, sizeof(nr));
	writer->header.features[0] |= 1ull << feature;
	return 0;
}

static int add_btf(struct bpf_writer *to, uint32_t id)
{
	uint8_t *owned = NULL, *element = NULL;
	struct perch__btf btf;
	int rc = 0;

	if (!id || has_btf(&to->writer->feature[PERCH_FEATURE_BPF_BTF], id) ||
	    perch__btf_read(&to->calls, id, &btf, &owned))
		return 0;
	element = malloc(btf.size + 2 * sizeof(uint32_t));
	if (element) {
		const uint32_t head[2] = { id, (uint32_t)btf.size };

		memcpy(element, head, sizeof(head));
		memcpy(element + sizeof(head), btf.bytes, btf.size);
		rc = add_data(to, PERCH_FEATURE_BPF_BTF, element, btf.size + sizeof(head));
	}
	free(element);
	free(owned);
	return rc;
}

static int add_program(struct bpf_writer *to, uint32_t id)
{
	struct perch__bpf_program program;
	uint8_t *element;
	size_t size;
	int rc = 0;

	if (perch__bpf_read(&to->calls, id, &program))
		return 0;
	size = perch__bpf_store(&program, NULL);
	element = malloc(size);
	if (element) {
		perch__bpf_store(&program, element);
		rc = add_data(to, PERCH_FEATURE_BPF_PROG_INFO, element, size);
	}
	if (!rc)
		rc = add_btf(to, program.info.btf);
	free(element);
	perch__bpf_free(&program);
	return rc;
}

int perch_writer_add_bpf_programs(struct perch_writer *writer, struct perch_machine *machine,
				  struct perch_error *err)
{
	const struct perch_syscalls *table = perch_machine_syscalls(machine);
	struct bpf_writer to = {
		.writer = writer,
		.calls = { table->context, table->bpf ? table->bpf : perch_kernel_syscalls.bpf,
			   table->close },
		.err = err,
	};
	uint32_t id = 0;
	int rc = 0;

	while (!rc && !perch__bpf_next(&to.calls, &id))
		if (!has_program(&writer->feature[PERCH_FEATURE_BPF_PROG_INFO], id))
			rc = add_program(&to, id);
	return rc;
}

/* ---- printing ---- */

/* Finds a BTF in the feature BPF_BTF. */
static bool find_btf(const struct perch_reader *reader, uint32_t id, struct perch__btf *btf)
{
	const struct perch__view *view = &reader->feature[PERCH_FEATURE_BPF_BTF];
	const uint8_t *at = view->at;
	size_t left = view->at ? view->left : 0;
	uint32_t found;

	if (!id || left < sizeof(uint32_t))
		return false;
	at += sizeof(uint32_t);
	left -= sizeof(uint32_t);
	for (int i = 0; i < MAX_BTFS && perch__btf_take(&at, &left, &found, btf); i++)
		if (found == id)
			return true;
	return false;
}

static void print_function(FILE *stream, const struct perch__bpf_program *program,
			   const struct perch__btf *btf, uint32_t index, uint64_t address,
			   uint32_t length, uint64_t *budget)
{
	char name[512], clean[512];

	/* a search in a BTF takes time; a real one has a few thousand types */
	if (btf && *budget < btf->size)
		btf = NULL;
	if (btf)
		*budget -= btf->size;
	perch__bpf_function_name(program, btf, index, name, sizeof(name));
	perch_clean_text(name, clean, sizeof(clean));
	if (program->info.nr_addresses > 1)
		fprintf(stream, "# \tsub_prog %u: %s addr 0x%" PRIx64 " size %u\n", index, clean,
			address, length);
	else
		fprintf(stream, "# bpf_prog_info %u: %s addr 0x%" PRIx64 " size %u\n",
			program->info.id, clean, address, length);
}

void perch__print_bpf_programs(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	struct perch__bpf_program program;
	const uint8_t *at = view.at;
	size_t left = view.left;
	uint64_t budget = MAX_SEARCHED_BYTES;

	/* programs of the other byte order are not read, as in perf */
	if (view.swapped || left < sizeof(uint32_t))
		return;
	at += sizeof(uint32_t);
	left -= sizeof(uint32_t);
	while (perch__bpf_take(&at, &left, &program)) {
		struct perch__btf btf;
		bool found = find_btf(reader, program.info.btf, &btf);
		uint64_t address;
		uint32_t length;

		if (program.info.nr_addresses > 1)
			fprintf(stream, "# bpf_prog_info %u:\n", program.info.id);
		for (uint32_t i = 0; perch__bpf_function(&program, i, &address, &length); i++)
			print_function(stream, &program, found ? &btf : NULL, i, address, length,
				       &budget);
	}
}

void perch__print_btfs(struct perch_reader *reader, FILE *stream, struct perch__view view)
{
	const uint8_t *at = view.at;
	size_t left = view.left;
	struct perch__btf btf;
	uint32_t id;

	(void)reader;
	if (view.swapped || left < sizeof(uint32_t))
		return;
	at += sizeof(uint32_t);
	left -= sizeof(uint32_t);
	while (perch__btf_take(&at, &left, &id, &btf))
		fprintf(stream, "# btf info of id %u\n", id);
}
