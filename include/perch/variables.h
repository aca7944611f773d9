/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Variables and lines of functions, by the debug information of a file: where a value is when an
 * instruction runs. Part of libperch-profile.
 *
 * Threads: one thread at a time uses a handle.
 *
 * Errors: a function that can fail fills err.
 *
 * Fork: a child can use its copy.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_VARIABLES_H
#define PERCH_VARIABLES_H

#include <perch/symbol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where the first word of a value is. */
enum perch_value_location {
	PERCH_LOCATION_REGISTER, /**< in a register */
	PERCH_LOCATION_MEMORY,	 /**< in memory, at a register plus offset */
	PERCH_LOCATION_CFA,	 /**< in memory, at the canonical frame address plus offset */
	PERCH_LOCATION_STATIC,	 /**< in memory, at an address of the file */
	PERCH_LOCATION_CONSTANT, /**< it has always the same value */
};

/** What a value is. */
enum perch_value {
	PERCH_VALUE_SIGNED,   /**< a number with sign */
	PERCH_VALUE_UNSIGNED, /**< a number, a boolean or a character */
	PERCH_VALUE_FLOAT,    /**< a floating-point number */
	PERCH_VALUE_POINTER,  /**< a pointer or a reference */
	PERCH_VALUE_TEXT,     /**< a pointer to char: to a text that ends in NUL, as most are */
	PERCH_VALUE_CHARS,    /**< an array of char */
};

#define PERCH_VARIABLE_STEPS_MAX 8 /**< pointers that an expression follows */

/** A value, by an expression such as "item->next->number". */
struct perch_variable {
	enum perch_value_location location; /**< where the value, or the first pointer to it, is */
	unsigned number;		    /**< of the register, as in DWARF */
	int64_t offset;			    /**< of memory */
	uint64_t word; /**< address in the file's own addresses, or the constant */
	/** Each step reads a pointer at the location so far; what follows is at the pointer plus
	 * this offset. */
	int64_t step[PERCH_VARIABLE_STEPS_MAX];
	size_t nr_steps;	/**< elements of step */
	enum perch_value value; /**< what it is */
	uint32_t bytes;		/**< of the value; of a bit field, of the unit around it */
	uint32_t bit_size;	/**< of a bit field; 0 of others */
	uint32_t bit_offset;	/**< its lowest bit in the unit */
	/** Its location is below the frame of its caller: a function has it there only after its
	 * first instructions. */
	bool in_frame;
	uint64_t reserved[4]; /**< for members of later versions */
};

/**
 * Finds a value at an instruction.
 *
 * @param symbols        the handle
 * @param dso            a file
 * @param offset         of the instruction in the file
 * @param text           a variable or parameter of the function around it, or of its file, or
 *                       "$retval", the value that it returns; with members and elements: "name",
 *                       "*count", "item->list[2]". "->" and "." both follow pointers and references
 * @param[out] variable  the value
 * @param[out] err       the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ENOENT  there is no such variable or member, or no debug information
 * @retval -ENODATA the compiler keeps no value there
 * @retval -EINVAL  wrong syntax, or no value of at most 8 bytes, as a struct
 * @retval -ENOTSUP the value is in several places, or the debug information is not understood
 */
PERCH_API int perch_symbols_variable(struct perch_symbols *symbols, const struct perch_dso *dso,
				     uint64_t offset, const char *text,
				     struct perch_variable *variable, struct perch_error *err);

/** Called with the name of a parameter. Another result than 0 ends the list. */
typedef int perch_parameter_visit(void *context, const char *name);

/**
 * Lists the parameters of the function around an instruction, in their order.
 *
 * @param symbols  the handle
 * @param dso      a file
 * @param offset   of the instruction in the file
 * @param visit    is called for each parameter that has a name
 * @param context  its first argument
 * @param[out] err the reason of a failure; NULL is allowed
 * @return 0, what visit returned, or a negative errno as perch_symbols_variable()
 */
PERCH_API int perch_symbols_parameters(struct perch_symbols *symbols, const struct perch_dso *dso,
				       uint64_t offset, perch_parameter_visit *visit, void *context,
				       struct perch_error *err);

/**
 * Finds the first instruction after the prologue of a function: where its first line ends. Without
 * optimization a function has stored its parameters there.
 *
 * @param symbols    the handle
 * @param dso        a file
 * @param offset     of the first instruction of the function in the file
 * @param[out] after offset of the instruction
 * @param[out] err   the reason of a failure; NULL is allowed
 * @return 0, or a negative errno as perch_symbols_variable()
 */
PERCH_API int perch_symbols_after_prologue(struct perch_symbols *symbols,
					   const struct perch_dso *dso, uint64_t offset,
					   uint64_t *after, struct perch_error *err);

/**
 * Finds the address in the file's own addresses of an offset in a file with debug information, as
 * perch_variable.word.
 *
 * @param symbols      the handle
 * @param dso          a file
 * @param offset       the offset in the file
 * @param[out] address the address
 * @return 0, or -ENOENT: no debug information, or the offset is not mapped; needs no err
 */
PERCH_API int perch_symbols_address(struct perch_symbols *symbols, const struct perch_dso *dso,
				    uint64_t offset, uint64_t *address);

/** Called for a copy of an inlined function. name: not demangled. Another result than 0 ends the
 * list. */
typedef int perch_inlined_visit(void *context, const char *name, uint64_t offset);

/**
 * Lists the copies of inlined functions, by the debug information of a file. If a part of that is
 * missing, so are its copies: perch_symbols_debug_error() then has the reason.
 *
 * @param symbols  the handle
 * @param dso      a file
 * @param visit    is called for each copy, with the offset in the file where it begins
 * @param context  its first argument
 * @param[out] err the reason of a failure; NULL is allowed
 * @return 0, what visit returned, -ENOMEM, or -ENOENT: no debug information
 */
PERCH_API int perch_symbols_inlined(struct perch_symbols *symbols, const struct perch_dso *dso,
				    perch_inlined_visit *visit, void *context,
				    struct perch_error *err);

/** Called for an offset in a file. Another result than 0 ends the list. */
typedef int perch_line_visit(void *context, uint64_t offset);

/**
 * Lists where the code of a source line begins: each function that it is inlined in has a copy, and
 * one function may have several parts of it.
 *
 * @param symbols    the handle
 * @param dso        a file
 * @param source     the path of the source file, or its end: "server.c"
 * @param line       the line
 * @param visit      is called for each offset
 * @param context    its first argument
 * @param[out] next  the next line that has code; 0: there is none
 * @param[out] err   the reason of a failure; NULL is allowed
 * @return 0, what visit returned, -ENOMEM, or -ENOENT: no debug information, or no such source file
 */
PERCH_API int perch_symbols_line(struct perch_symbols *symbols, const struct perch_dso *dso,
				 const char *source, uint32_t line, perch_line_visit *visit,
				 void *context, uint32_t *next, struct perch_error *err);

/** Called for a function of a file. Another result than 0 ends the list. */
typedef int perch_symbol_visit(void *context, const struct perch_symbol *symbol);

/**
 * Lists the functions in the symbol tables of a file, its debug file and its table of Go, by
 * offset. Of several names of one function it has one.
 *
 * @param symbols  the handle
 * @param dso      a file
 * @param visit    is called for each function
 * @param context  its first argument
 * @param[out] err the reason of a failure; NULL is allowed
 * @return 0, what visit returned, -ENOMEM, or -ENOENT: the file has none
 */
PERCH_API int perch_symbols_list(struct perch_symbols *symbols, const struct perch_dso *dso,
				 perch_symbol_visit *visit, void *context, struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif
