/* SPDX-License-Identifier: MIT */
/* Functions of the Go runtime whose callers the rules of its linker do not find. */
#include "internal.h"

/* The functions that write the stack pointer and call another function, on any architecture. */
static const char *const functions[] = {
	"runtime.asmcgocall",  "runtime.asmcgocall_no_g", "runtime.mcall",
	"runtime.morestack",   "runtime.nanotime1",	  "runtime.systemstack",
	"runtime.vgetrandom1", "runtime.walltime",	  "time.now",
};

bool perch__go_switches_stack(const struct rules *rules, uint64_t offset)
{
	const struct perch_symbol *symbol =
		rules->of_go ? perch_symbols_find(rules->symbols, rules->dso, offset) : NULL;

	for (size_t i = 0; symbol && i < PERCH__NR(functions); i++) {
		size_t length = strlen(functions[i]);

		/* the linker may add ".abi0" to the name */
		if (!strncmp(symbol->name, functions[i], length) &&
		    (!symbol->name[length] || !strncmp(symbol->name + length, ".abi", 4)))
			return true;
	}
	return false;
}
