/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Unwinding: the registers and the copy of the user stack in a sample become a call chain.
 *
 * A sample has them with PERCH_SAMPLE_REGS_USER and PERCH_SAMPLE_STACK_USER (`record --call-graph
 * dwarf`). The rules come from .eh_frame or .debug_frame of the ELF files or of their separate
 * debug files; code without rules is unwound by its frame pointer. Supported are x86-64, arm64 and
 * 32-bit programs of x86 (i386), of these only .eh_frame.
 *
 * Functions without err cannot fail, or their comment lists what they return. In all functions err
 * may be NULL.
 *
 * Threads: one thread per unwinder at a time, together with its processes and symbols.
 *
 * Fork: a child has a copy of the unwinder, and can use and free it. Nothing that it does changes
 * the unwinder of the parent.
 *
 * Signals: no function is async-signal-safe. They allocate memory and read files.
 */
#ifndef PERCH_UNWIND_H
#define PERCH_UNWIND_H

#include <perch/error.h>
#include <perch/fields.h>
#include <perch/process.h>
#include <perch/record.h>
#include <perch/symbol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Why a call chain ends. */
enum perch_unwind_end {
	/** At the outermost function of the thread: the chain is complete. */
	PERCH_UNWIND_OUTERMOST,
	/** The copy of the stack is too short, or a signal handler has a stack of its own: the
	 * outer callers are missing. */
	PERCH_UNWIND_TRUNCATED,
	/** The array of the caller is full. */
	PERCH_UNWIND_MAX_FRAMES,
	/** The sample has no registers of user space: it is of a kernel thread. */
	PERCH_UNWIND_NO_REGISTERS,
	/** The registers are not those of an architecture that is supported, or some are missing.
	 */
	PERCH_UNWIND_UNSUPPORTED,
	/** No mapping was recorded at the return address. */
	PERCH_UNWIND_NO_MAPPING,
	/** The file with the rules is missing or not the recorded one, and the frame pointer is not
	 * usable. */
	PERCH_UNWIND_NO_FILE,
	/** There is no rule for the code, and the frame pointer is not usable. */
	PERCH_UNWIND_NO_RULE,
	/** A rule is damaged, or it leads to memory outside of the stack. */
	PERCH_UNWIND_BAD_RULE,
	/** The caller's frame is not outside of the frame of the function. */
	PERCH_UNWIND_LOOP,
	/** In a function of the Go runtime that switches to another stack: the stack of its callers
	 * was not copied. */
	PERCH_UNWIND_OTHER_STACK,
	/** As PERCH_UNWIND_NO_RULE, in a program in Go. A stripped program in Go has no rules, but
	 * frame pointers. */
	PERCH_UNWIND_NO_RULE_OF_GO,
	/** A precise sample at the return of a function: the registers are those after it, and the
	 * return address is not in the copy of the stack. */
	PERCH_UNWIND_RETURNED,
	PERCH_UNWIND_ENDS /**< the number of reasons */
};

/** What perch_unwind() found. */
struct perch_unwind_result {
	size_t nr;		     /**< addresses that were stored */
	enum perch_unwind_end end;   /**< why there are no more */
	const struct perch_dso *dso; /**< the DSO of the last address; NULL if nr is 0 */
	uint64_t reserved[4];	     /**< for members of later versions */
};

/**
 * Returns the registers that unwinding uses, for perch_options.sample_regs_user.
 *
 * @param arch  the architecture, for example perch_arch_here()
 * @return a mask of bits of asm/perf_regs.h; 0 if the architecture is not supported
 */
PERCH_API uint64_t perch_unwind_registers(enum perch_arch arch);

/**
 * Finds the canonical frame address at an instruction: the stack pointer before the call of its
 * function.
 *
 * @param symbols            finds the file
 * @param dso                a file
 * @param offset             of the instruction in the file
 * @param arch               the architecture
 * @param[out] number        the register, as in DWARF, that it is relative to
 * @param[out] frame_offset  what is added to the register
 * @param[out] err           the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ENODATA there is no rule, or it is no sum
 * @retval -ENOTSUP another architecture
 */
PERCH_API int perch_unwind_frame_address(struct perch_symbols *symbols, const struct perch_dso *dso,
					 uint64_t offset, enum perch_arch arch, unsigned *number,
					 int64_t *frame_offset, struct perch_error *err);
/**
 * Returns the name of a register by its number in DWARF, as perch_register_name(). Thread-safe.
 *
 * @param arch    the architecture
 * @param number  the number in DWARF
 * @return the name; NULL for others
 */
PERCH_API const char *perch_unwind_register_name(enum perch_arch arch, unsigned number);

/** An unwinder with its cache of rules. */
struct perch_unwinder;

/**
 * Creates an unwinder. It reads files when an address in them is first unwound.
 *
 * @param[out] unwinder  the new object; NULL after a failure
 * @param arch           the architecture of the samples
 * @param processes      must outlive the unwinder
 * @param symbols        finds the files; must outlive the unwinder
 * @param[out] err       the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_unwinder_new(struct perch_unwinder **unwinder, enum perch_arch arch,
				 struct perch_processes *processes, struct perch_symbols *symbols,
				 struct perch_error *err);

/** Frees an unwinder. NULL is allowed. */
PERCH_API void perch_unwinder_free(struct perch_unwinder *unwinder);

/**
 * Unwinds the user stack of a sample.
 *
 * The first address is that of the registers. The others are return addresses minus 1, which are
 * addresses in the call instruction; a function that a signal interrupted has the address of the
 * interrupted instruction. A chain that ends early has no wrong addresses: all that were stored
 * count.
 *
 * @param unwinder     the unwinder
 * @param thread       the thread of the sample
 * @param record       the sample, with registers and stack of user space
 * @param[out] ips     the addresses, innermost first
 * @param max          capacity of ips
 * @param[out] result  the number of addresses, and why there are no more
 * @return 0; or -ENOMEM, the only error, so it needs no err. result then has nr 0.
 */
PERCH_API int perch_unwind(struct perch_unwinder *unwinder, struct perch_thread *thread,
			   const struct perch_record *record, uint64_t *ips, size_t max,
			   struct perch_unwind_result *result);

/**
 * Returns how many call chains ended for a reason.
 *
 * @param unwinder  the unwinder
 * @param dso       only chains that end in this DSO; NULL counts all
 * @param end       the reason
 * @return the number of perch_unwind() calls
 */
PERCH_API uint64_t perch_unwinder_count(const struct perch_unwinder *unwinder,
					const struct perch_dso *dso, enum perch_unwind_end end);

/**
 * Returns why a DSO has no rules, for example "no such file".
 *
 * @param unwinder  the unwinder
 * @param dso       the DSO
 * @return the reason; NULL if it has rules, or if none were needed
 */
PERCH_API const char *perch_unwinder_error(const struct perch_unwinder *unwinder,
					   const struct perch_dso *dso);

#ifdef __cplusplus
}
#endif
#endif
