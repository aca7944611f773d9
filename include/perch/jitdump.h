/* SPDX-License-Identifier: MIT */
/**
 * @file
 * jitdump: the functions of a JIT compiler, with the time from which each is valid.
 *
 * A program with a JIT compiler can write a file jit-PID.dump (node --perf-prof, the libraries
 * libperf-jvmti and LLVM). The file has each function when it is loaded to memory or moved, with
 * its code, and its lines if the compiler has them. The program maps the file, so a recording has a
 * MMAP2 record of it. With perch_processes_use_jitdump() that record opens the file, and
 * perch_processes_resolve() returns a DSO of kind PERCH_DSO_JIT for addresses of its functions.
 *
 * The times of a jitdump are those of CLOCK_MONOTONIC. The records must have the same clock
 * (`record -k mono`), or no address is given to a function.
 *
 * The file is not trusted. Below a root directory no path leaves it. The file must be the one of
 * the record by device and inode, or else belong to this user, to root or to the user of the
 * process.
 *
 * Threads and fork: as in perch/process.h.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_JITDUMP_H
#define PERCH_JITDUMP_H

#include <stdbool.h>
#include <perch/error.h>
#include <perch/process.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How jitdump files are found and read. */
struct perch_jitdump_options {
	/** Directory with the files of the recorded machine. NULL is the root directory of the
	 * process, or "/" if the process has ended. */
	const char *root;
	/** The recording is from another machine: files are only read below root. */
	bool foreign;
	/** The times of the records are not those of CLOCK_MONOTONIC: the files are not read, and
	 * perch_jitdump_error() returns why. */
	bool other_clock;
	/** Files of other users are read, too. */
	bool any_owner;
	/** The end of the recording, in ns since 1970: processes that started later are other ones.
	 * 0 is unknown. */
	uint64_t recorded_at;
	uint64_t reserved[3]; /**< must be 0 */
};

/**
 * Reads the jitdump files that MMAP and MMAP2 records name from now on.
 *
 * @param processes  the processes
 * @param options    NULL is all 0
 * @param[out] err   the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_processes_use_jitdump(struct perch_processes *processes,
					  const struct perch_jitdump_options *options,
					  struct perch_error *err);

/**
 * Sets the time: adds the functions that JIT compilers have loaded or moved up to it. Call it
 * before a record of that time is applied, and before addresses of a sample are resolved. Without
 * jitdump files it returns at once. Needs no err: it fails only without memory.
 *
 * A file that grows is read further, at most 10 times a second.
 *
 * @param processes  the processes
 * @param time       time of the record in ns; an earlier time than before changes nothing
 * @return 0 or -ENOMEM
 */
PERCH_API int perch_processes_advance(struct perch_processes *processes, uint64_t time);

/**
 * Sets how many jitdump files of processes that have ended stay open, for programs that follow a
 * running system: of more, the file of the process that ended first is closed. Its functions keep
 * their names; of lines that were not asked for yet, of code and of unwinding information, none is
 * known any more. At first there is no limit.
 *
 * @param processes  the processes
 * @param nr         the number; files of processes that run stay open in addition
 */
PERCH_API void perch_processes_keep_jitdumps(struct perch_processes *processes, size_t nr);

/** A function of a jitdump. */
struct perch_jit_function {
	uint32_t number;  /**< from 0, in the order of the file */
	uint64_t offset;  /**< offset of its code in the file: that of struct perch_location */
	uint64_t size;	  /**< bytes of its code */
	uint64_t address; /**< where it was loaded */
	uint64_t time;	  /**< when it was loaded, in ns of CLOCK_MONOTONIC */
	const char *name; /**< not trusted; at most 4096 bytes; lives as long as the processes */
	uint64_t reserved[3]; /**< for members of later versions */
};

/**
 * Finds a function.
 *
 * @param jitdump        the jitdump: perch_dso.jitdump of a DSO of kind PERCH_DSO_JIT
 * @param offset         offset in the file, see struct perch_location
 * @param[out] function  the function
 * @return 0, or -ENOENT if no function has code at the offset, which is the only error
 */
PERCH_API int perch_jitdump_find(const struct perch_jitdump *jitdump, uint64_t offset,
				 struct perch_jit_function *function);

/**
 * Finds the source line of an offset, if the compiler wrote lines. Where it inserted a function
 * into another one, that is the line of the inserted one, as in perf.
 *
 * @param jitdump    the jitdump
 * @param offset     offset in the file, see struct perch_location. The line of a call is that of an
 *                   offset before its return address.
 * @param[out] file  the source file, not trusted; lives as long as the processes; NULL if unknown
 * @param[out] line  the line, from 1; 0 if unknown
 * @return 0, or a negative errno; needs no err, because each has one reason
 * @retval -ENOENT  no line is known
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_jitdump_find_line(struct perch_jitdump *jitdump, uint64_t offset,
				      const char **file, uint32_t *line);

/**
 * Reads the unwinding information of a function: its .eh_frame. Addresses in it are relative to
 * their own place; the function begins before the section, at a distance of the size of its code,
 * rounded up to 8.
 *
 * @param jitdump         the jitdump
 * @param offset          offset in the file, see struct perch_location
 * @param[out] function   the function
 * @param[out] bytes      the section, in the byte order of the file; to be freed with free(); NULL
 *                        after a failure
 * @param[out] size       bytes of the section
 * @param[out] swapped    the byte order is not that of this machine
 * @return 0, or a negative errno; needs no err, because each has one reason
 * @retval -ENOENT   no function, or none with unwinding information, has code at the offset, or
 *                   the file was closed
 * @retval -EBADMSG  the unwinding information is damaged
 * @retval -ENOMEM   out of memory
 */
PERCH_API int perch_jitdump_read_eh_frame(const struct perch_jitdump *jitdump, uint64_t offset,
					  struct perch_jit_function *function, void **bytes,
					  size_t *size, bool *swapped);

/**
 * Reads the code of a function, as the compiler wrote it.
 *
 * @param jitdump        the jitdump
 * @param offset         offset in the file, see struct perch_location
 * @param most           most bytes to read; the rest of a larger function is left out
 * @param[out] function  the function
 * @param[out] bytes     the code from the start of the function on; to be freed with free(); NULL
 *                       after a failure
 * @param[out] size      how many bytes
 * @param[out] machine   the architecture of the file: EM_* of <elf.h>
 * @param[out] swapped   the byte order of the file is not that of this machine
 * @return 0, or a negative errno; needs no err, because each has one reason
 * @retval -ENOENT   no function has code at the offset, or the file was closed, see
 *                   perch_processes_keep_jitdumps()
 * @retval -EBADMSG  the file became shorter
 * @retval -ENOMEM   out of memory
 */
PERCH_API int perch_jitdump_read_code(const struct perch_jitdump *jitdump, uint64_t offset,
				      size_t most, struct perch_jit_function *function,
				      void **bytes, size_t *size, uint32_t *machine, bool *swapped);

/**
 * Returns why a jitdump has no functions, for example "no such file".
 *
 * @param jitdump  the jitdump
 * @return the reason; NULL if the file was read
 */
PERCH_API const char *perch_jitdump_error(const struct perch_jitdump *jitdump);

/**
 * Returns the descriptor of the open file, for a program that closes all others in a child. It
 * belongs to the jitdump: lines, code and unwinding information are read from it.
 *
 * @param jitdump  the jitdump
 * @return the descriptor; -1 if the file is not open
 */
PERCH_API int perch_jitdump_fd(const struct perch_jitdump *jitdump);

/**
 * Returns whether a jitdump is not read because of its owner: perch_jitdump_options.any_owner would
 * read it.
 *
 * @param jitdump  the jitdump
 * @return true if perch_jitdump_error() is about the owner of the file
 */
PERCH_API bool perch_jitdump_is_of_other_user(const struct perch_jitdump *jitdump);

/**
 * Returns how many records of a jitdump were skipped, because they are damaged or more than
 * 4194304. After a record with an impossible size, the rest of the file is not read, which counts
 * as one.
 *
 * @param jitdump  the jitdump
 * @return the number of records
 */
PERCH_API uint64_t perch_jitdump_damaged_records(const struct perch_jitdump *jitdump);

/**
 * Returns how many of the damaged records have source lines. Their functions have a name and code,
 * but no lines. The lines of a function are read when one of them is first needed.
 *
 * @param jitdump  the jitdump
 * @return the number of records, which perch_jitdump_damaged_records() counts, too
 */
PERCH_API uint64_t perch_jitdump_damaged_lines(const struct perch_jitdump *jitdump);

#ifdef __cplusplus
}
#endif
#endif
