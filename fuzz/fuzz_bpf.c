/* SPDX-License-Identifier: MIT */
/*
 * The input has the features BPF_PROG_INFO and BPF_BTF of a recording: the first byte is the part
 * of the bytes that is BPF_BTF, in 256ths.
 */
#include <stdlib.h>

#include <perch/symbol.h>

#include "base/kernel/bpf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void make_names(const uint8_t *at, size_t left, const struct perch__btf *btf)
{
	struct perch__bpf_program program;
	uint64_t address;
	uint32_t length;
	char name[64];

	for (int i = 0; i < 8 && perch__bpf_take(&at, &left, &program); i++)
		for (uint32_t j = 0; j < 8 && perch__bpf_function(&program, j, &address, &length);
		     j++)
			perch__bpf_function_name(&program, btf, j, name, sizeof(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perch_dso dso = { .kind = PERCH_DSO_KERNEL_CODE,
				 .path = "bpf_prog_0102030405060708_main",
				 .start = 0x1000,
				 .length = 0x40 };
	const struct perch_symbol_frame *frames;
	struct perch_symbols *symbols;
	struct perch__btf btf;
	size_t first;

	if (!size || perch_symbols_new(&symbols, NULL, NULL))
		return 0;
	first = (size - 1) * *bytes / 256;
	btf = (struct perch__btf){ bytes + 1 + first, size - 1 - first };
	make_names(bytes + 1, first, &btf);
	perch_symbols_set_bpf_programs(symbols, bytes + 1, first, btf.bytes, btf.size);
	for (uint64_t offset = 0; offset < 0x40; offset += 16)
		perch_symbols_frames(symbols, &dso, 0x1000 + offset, &frames);
	perch_symbols_free(symbols);
	return 0;
}
