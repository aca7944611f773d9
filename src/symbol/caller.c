/* SPDX-License-Identifier: MIT */
/*
 * The function of a return address: the one with the call. A call of a function that does not
 * return may be the end of its caller, and then the return address is that of the next function.
 */
#include <elf.h>

#include "symbols.h"

#define MOST_CALL_BYTES 7 /* of an instruction that calls */

bool perch_symbol_is_signal_return(const struct perch_symbol *symbol)
{
	static const char *const names[] = {
		"__restore_rt",		  "__restore",		 "__kernel_rt_sigreturn",
		"__kernel_sigreturn",	  "__vdso_rt_sigreturn", "__kernel_sigtramp_rt64",
		"__kernel_sigtramp_rt32", "__kernel_sigtramp32", "__kernel_start_sigtramp_rt64",
	};

	for (size_t i = 0; symbol && i < PERCH__NR(names); i++)
		if (!strcmp(symbol->name, names[i]))
			return true;
	return false;
}

/* Returns the length of an indirect call of x86 from its bytes, which begin with 0xff. */
static size_t x86_length(const uint8_t *bytes, size_t size)
{
	unsigned mode = bytes[1] >> 6, base = bytes[1] & 7;
	size_t length = 2;

	if (mode == 3)
		return length;
	if (base == 4) {
		if (size < 3)
			return 0;
		length++;
		base = bytes[2] & 7;
	}
	if (mode == 1)
		return length + 1;
	return mode == 2 || base == 5 ? length + 4 : length;
}

/* The bytes end at the return address. */
static bool ends_in_x86_call(const uint8_t *bytes, size_t size)
{
	if (size >= 5 && bytes[size - 5] == 0xe8)
		return true;
	for (size_t length = 2; length <= size && length <= MOST_CALL_BYTES; length++) {
		const uint8_t *at = bytes + size - length;

		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2 && x86_length(at, length) == length)
			return true;
	}
	return false;
}

static bool ends_in_arm64_call(const uint8_t *bytes, size_t size)
{
	uint32_t word;

	if (size < 4)
		return false;
	bytes += size - 4;
	/* instructions have this byte order on any machine */
	word = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
	/* bl; blr; blraa and others with a key */
	return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000 ||
	       (word & 0xfefff800) == 0xd63f0800;
}

/*
 * Kernels with CONFIG_FUNCTION_PADDING_CFI or _CALL_PADDING name the padding before a function. No
 * call is there: an address at the start of the function is that of an interrupt.
 */
static bool is_padding(const struct perch_symbol *symbol)
{
	return !strncmp(symbol->name, "__pfx_", 6) || !strncmp(symbol->name, "__cfi_", 6);
}

enum before { CALL, NO_CALL, UNKNOWN };

/* Returns what is before an address, in the function that starts at start. UNKNOWN: the code, or
 * the instructions of its machine. */
static enum before before_address(struct perch_symbols *symbols, const struct perch_dso *dso,
				  uint64_t start, uint64_t offset)
{
	size_t size = offset - start < MOST_CALL_BYTES ? (size_t)(offset - start) : MOST_CALL_BYTES;
	enum before found = UNKNOWN;
	struct perch_code code;

	if (perch_symbols_read_code(symbols, dso, offset - size, size, &code, NULL))
		return UNKNOWN;
	if (code.size == size && (code.machine == EM_X86_64 || code.machine == EM_386))
		found = ends_in_x86_call(code.bytes, size) ? CALL : NO_CALL;
	else if (code.size == size && code.machine == EM_AARCH64)
		found = ends_in_arm64_call(code.bytes, size) ? CALL : NO_CALL;
	perch_code_clear(&code);
	return found;
}

const struct perch_symbol *perch_symbols_caller(struct perch_symbols *symbols,
						const struct perch_dso *dso, uint64_t offset,
						const struct perch_symbol *symbol)
{
	const struct perch_symbol *before;
	struct dso_symbols *cached;

	/* handlers of signals return to the start of a function that no instruction calls */
	if (!offset || (symbol && offset != symbol->start) || perch_symbol_is_signal_return(symbol))
		return symbol;
	cached = perch__symbols_of_dso(symbols, dso);
	before = cached ? perch__symbols_find(symbols, cached, offset - 1) : NULL;
	/* no function has the byte before, so none has called: makecontext(3) has set the address
	 */
	if (!before || is_padding(before))
		return symbol;
	switch (before_address(symbols, dso, before->start, offset)) {
	case CALL:
		return before;
	case NO_CALL:
		return symbol;
	case UNKNOWN:
		break;
	}
	/* JIT compilers name data before a function, too */
	return perch_dso_is(dso, PERCH_DSO_IS_GENERATED) ? symbol : before;
}

int perch_symbols_frames_shown(struct perch_symbols *symbols, const struct perch_dso *dso,
			       uint64_t offset, const struct perch_symbol *symbol, unsigned flags,
			       struct perch_symbol_frame *single,
			       const struct perch_symbol_frame **frames)
{
	bool caller = flags & PERCH_FRAMES_CALLER;
	int nr;

	if (caller)
		symbol = perch_symbols_caller(symbols, dso, offset, symbol);
	*single = (struct perch_symbol_frame){ .symbol = symbol };
	*frames = single;
	if (flags & PERCH_FRAMES_ALONE || !perch_symbols_has_debug_info(symbols, dso))
		return 1;
	nr = perch_symbols_frames(symbols, dso, offset - (caller && offset), frames);
	/* the byte before the start of a function that handlers of signals return to */
	if (nr > 0 && (*frames)[nr - 1].symbol == symbol)
		return nr;
	*frames = single;
	return nr < 0 ? nr : 1;
}

const char *perch_symbols_name_shown(struct perch_symbols *symbols, const struct perch_dso *dso,
				     char cpumode_char, const struct perch_symbol *symbol,
				     char *buffer, size_t size)
{
	const char *name;

	if (symbol)
		return perch_symbols_name(symbols, symbol);
	name = perch_symbols_dso_name(symbols, dso);
	if (!*name || !strcmp(name, "[unknown]"))
		name = cpumode_char == 'k' ? "[kernel]" : "[unknown]";
	snprintf(buffer, size, *name == '[' ? "%s" : "[%s]", name);
	return buffer;
}
