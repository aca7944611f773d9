/* SPDX-License-Identifier: MIT */
/**
 * @file
 * perf.data files: a writer whose files are readable at every moment, and a reader for files of any
 * perf and perch.
 *
 * In all functions err may be NULL. Functions without err cannot fail, or their comment lists what
 * they return.
 *
 * Threads: one thread per object at a time.
 *
 * Fork: a reader reads from memory, or at positions of its own: a child can use and close its copy.
 * If threads of a profile have read ahead (perch_profile_options.read_ahead), it can only close it:
 * perch_reader_next() is -ESTALE there, after the records that were in order before.
 * A writer belongs to the process that opened it: a child must not call a function with it, not
 * even perch_writer_close(), because both processes would write to the same place of the file.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_FILE_H
#define PERCH_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/fields.h>
#include <perch/machine.h>
#include <perch/record.h>
#include <perch/tracepoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Record types that user space writes to a file, in addition to those of the kernel (enum
 * perch_record_type). */
enum perch_file_record {
	PERCH_RECORD_HEADER_ATTR = 64,	  /**< pipe: an attr and its ids */
	PERCH_RECORD_HEADER_EVENT_TYPE,	  /**< obsolete: an event; of perch: a user of a process */
	PERCH_RECORD_HEADER_TRACING_DATA, /**< pipe: tracepoint formats; the data follow */
	PERCH_RECORD_HEADER_BUILD_ID,	  /**< pipe: the build id of a file */
	PERCH_RECORD_FINISHED_ROUND,	  /**< all rings have been read once */
	PERCH_RECORD_ID_INDEX,		  /**< event id -> CPU and thread */
	PERCH_RECORD_AUXTRACE_INFO,	  /**< kind and settings of the AUX trace */
	PERCH_RECORD_AUXTRACE,		  /**< bytes of an AUX area; the bytes follow */
	PERCH_RECORD_AUXTRACE_ERROR,	  /**< an error from decoding an AUX trace */
	PERCH_RECORD_THREAD_MAP,	  /**< perf stat: threads */
	PERCH_RECORD_CPU_MAP,		  /**< perf stat: CPUs */
	PERCH_RECORD_STAT_CONFIG,	  /**< perf stat: settings */
	PERCH_RECORD_STAT,		  /**< perf stat: a count */
	PERCH_RECORD_STAT_ROUND,	  /**< perf stat: end of an interval */
	PERCH_RECORD_EVENT_UPDATE,	  /**< unit, scale, name or CPUs of an event */
	PERCH_RECORD_TIME_CONV,		  /**< conversion of time stamp counters */
	PERCH_RECORD_HEADER_FEATURE,	  /**< pipe: a feature */
	PERCH_RECORD_COMPRESSED,	  /**< compressed records */
	PERCH_RECORD_FINISHED_INIT,	  /**< the records of existing processes are complete */
	PERCH_RECORD_COMPRESSED2,	  /**< compressed records, with padding */
	PERCH_RECORD_BPF_METADATA,	  /**< variables of a BPF program */
	PERCH_RECORD_SCHEDSTAT_CPU,	  /**< /proc/schedstat: a CPU */
	PERCH_RECORD_SCHEDSTAT_DOMAIN,	  /**< /proc/schedstat: a scheduling domain */
};

/** Features: sections after the records that describe the recording. Names are perf's. */
enum perch_feature {
	PERCH_FEATURE_TRACING_DATA = 1, /**< formats of tracepoints */
	PERCH_FEATURE_BUILD_ID,		/**< build ids: perch_reader_build_ids() */
	PERCH_FEATURE_HOSTNAME,		/**< text: the name of the machine */
	PERCH_FEATURE_OSRELEASE,	/**< text: the kernel release */
	PERCH_FEATURE_VERSION,		/**< text: the version of the recorder */
	PERCH_FEATURE_ARCH,		/**< text: the architecture, as in uname(2) */
	PERCH_FEATURE_NRCPUS,		/**< number of CPUs */
	PERCH_FEATURE_CPUDESC,		/**< text: the name of the CPU */
	PERCH_FEATURE_CPUID,		/**< text: vendor, family, model, stepping */
	PERCH_FEATURE_TOTAL_MEM,	/**< memory in kB */
	PERCH_FEATURE_CMDLINE,		/**< perch_reader_command_line() */
	PERCH_FEATURE_EVENT_DESC,	/**< names of events: perch_reader_events() */
	PERCH_FEATURE_CPU_TOPOLOGY,	/**< sockets, dies and cores */
	PERCH_FEATURE_NUMA_TOPOLOGY,	/**< NUMA nodes */
	PERCH_FEATURE_BRANCH_STACK,	/**< no bytes: samples have branch stacks */
	PERCH_FEATURE_PMU_MAPPINGS,	/**< names and types of PMUs */
	PERCH_FEATURE_GROUP_DESC,	/**< groups: perch_reader_events() */
	PERCH_FEATURE_AUXTRACE,		/**< index of AUX trace records */
	PERCH_FEATURE_STAT,		/**< no bytes: the file is from perf stat */
	PERCH_FEATURE_CACHE,		/**< caches of the CPUs */
	PERCH_FEATURE_SAMPLE_TIME,	/**< time of the first and the last sample */
	PERCH_FEATURE_MEM_TOPOLOGY,	/**< memory blocks of NUMA nodes */
	PERCH_FEATURE_CLOCKID,		/**< resolution of the clock in ns */
	PERCH_FEATURE_DIR_FORMAT,	/**< version of the directory format */
	PERCH_FEATURE_BPF_PROG_INFO,	/**< BPF programs */
	PERCH_FEATURE_BPF_BTF,		/**< types of BPF programs */
	PERCH_FEATURE_COMPRESSED,	/**< kind and level of compression */
	PERCH_FEATURE_CPU_PMU_CAPS,	/**< capabilities of the core PMU */
	PERCH_FEATURE_CLOCK_DATA,	/**< one point in time by two clocks */
	PERCH_FEATURE_HYBRID_TOPOLOGY,	/**< CPUs of each core PMU */
	PERCH_FEATURE_PMU_CAPS,		/**< capabilities of other PMUs */
	PERCH_FEATURE_CPU_DOMAIN_INFO,	/**< scheduling domains */
	PERCH_FEATURE_E_MACHINE,	/**< ELF machine of the recorded programs */
	PERCH_FEATURE_CLN_SIZE,		/**< size of a cache line */
	PERCH_FEATURE_MAX,
	/** What the recording cost: struct perch_recording_cost. perf has no such feature, and
	 * ignores its number. */
	PERCH_FEATURE_RECORDING_COST = 240,
};

/* ---- Writing ---- */

/** An event of a file. */
struct perch_file_event {
	struct perch_attr attr;	   /**< as the event was opened */
	uint64_t attr_reserved[8]; /**< must be 0: attr grows with the kernel */
	const char *name;	   /**< text of the event */
	const uint64_t *ids;	   /**< ids of the event on each CPU and thread */
	size_t nr_ids;		   /**< number of ids */
	/** Group leader: number of events of the group, which follow each other. Others: 0 or 1. */
	uint32_t members;
	uint64_t reserved[4]; /**< must be 0 */
};

/**
 * A file that is being written.
 *
 * One thread at a time may use a writer. No function is async-signal-safe. After fork(2) only one
 * of the two processes may use it, because both have the same file; the other one must neither
 * append nor close it.
 */
struct perch_writer;

/**
 * Creates a file, with header, attrs and ids.
 *
 * An existing file is renamed to path.old. A device is written to. Only the owner can read the new
 * file. From now on the file is readable at every moment: the data size in its header covers the
 * records that are complete.
 *
 * @param[out] writer  the new writer; NULL after a failure
 * @param path         path of the file
 * @param events       the events, which are copied
 * @param nr           number of events, 1 to 65535
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_writer_open(struct perch_writer **writer, const char *path,
				const struct perch_file_event *events, size_t nr,
				struct perch_error *err);

/**
 * Writes a recording in pipe format to a descriptor, for tools that read it while it is written.
 *
 * Nothing is written at an earlier position, so the descriptor may be a pipe, a socket or a file.
 * The bytes are written at its file offset. Header, attrs, ids and names of events are written at
 * once. Features that are set before the first call of perch_writer_append() are written by that
 * call, before its records; other features, build ids and BPF programs by perch_writer_close().
 * Features of more than 65512 bytes do not exist in pipe format and are left out, but not the
 * formats of tracepoints and build ids.
 *
 * After a failure the recording may end in the middle of a record, so later calls of
 * perch_writer_append() fail with -EIO, and perch_writer_close() writes nothing. If nothing reads
 * the pipe, writing raises SIGPIPE, unless the program ignores it; then the failure is -EPIPE.
 *
 * @param[out] writer  the new writer; NULL after a failure
 * @param fd           the descriptor, which the writer duplicates; it stays open
 * @param events       the events, which are copied
 * @param nr           number of events, 1 to 65535
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -E2BIG      an event has more ids than a record has space for: 8174, or fewer with a
 *                     large attr
 */
PERCH_API int perch_writer_open_fd(struct perch_writer **writer, int fd,
				   const struct perch_file_event *events, size_t nr,
				   struct perch_error *err);

/**
 * Creates a directory, for a recorder with several threads. It has a file "data", which the writer
 * writes as perch_writer_open() does, and for each thread a file with records alone.
 *
 * An existing recording, file or directory, is renamed to path.old.
 *
 * @param[out] writer  the new writer; NULL after a failure
 * @param path         path of the directory, whose parent must exist
 * @param events       the events, which are copied
 * @param nr           number of events, 1 to 65535
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_writer_open_directory(struct perch_writer **writer, const char *path,
					  const struct perch_file_event *events, size_t nr,
					  struct perch_error *err);

/**
 * Creates the next file "data.N" of a directory.
 *
 * Only perch_writer_append(), perch_writer_compress(), perch_writer_size(),
 * perch_writer_record_bytes() and perch_writer_close() may be called with it, also while other
 * threads use other files of the directory. Its records must have no FINISHED_ROUND, because perf
 * sorts all files together. It must be closed before the writer of the directory.
 *
 * @param[out] part    the new writer; NULL after a failure
 * @param writer       the writer of the directory
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_writer_open_part(struct perch_writer **part, struct perch_writer *writer,
				     struct perch_error *err);

/**
 * Appends complete records: one pwritev(2), then one write of the data size in the header.
 *
 * If the file system becomes full, the file keeps the whole records that still fit, up to the first
 * one that does not: perch_writer_size() before and after the call differ by their size.
 * After any failure the file is readable and the writer can still be used, unless it is one of
 * perch_writer_open_fd().
 *
 * @param writer    the writer
 * @param pieces    the bytes of the records; a record may lie in several pieces
 * @param nr        number of pieces
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOSPC  the file system is full
 * @retval -EDQUOT  the quota of the user is used up
 * @retval -EFBIG   the file has reached the limit of file sizes (RLIMIT_FSIZE)
 */
PERCH_API int perch_writer_append(struct perch_writer *writer, const struct iovec *pieces, int nr,
				  struct perch_error *err);

/**
 * Compresses the records that are appended from now on, by zstd. The file has the feature
 * COMPRESSED, with the level and the ratio.
 *
 * What a call of perch_writer_append() has appended can be decompressed at once, so the file is as
 * readable as before if the program is killed. After a failure to write, records are appended as
 * they are. Do not append records that other bytes follow (AUXTRACE).
 *
 * perf reads COMPRESSED from Linux 5.2 on, and COMPRESSED2, which newer versions write, from 6.16
 * on. Both have a multiple of 8 bytes here.
 *
 * @param writer    the writer, before the first record. NULL: only checks that records can be
 *                  compressed.
 * @param level     from 1 (fast) to 22 (small); from 20 on it needs some hundred MB of memory
 * @param type      PERCH_RECORD_COMPRESSED or PERCH_RECORD_COMPRESSED2
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOTSUP  the library was built without libzstd
 */
PERCH_API int perch_writer_compress(struct perch_writer *writer, int level,
				    enum perch_file_record type, struct perch_error *err);

/**
 * Sets the bytes of a feature. perch_writer_close() writes them.
 *
 * @param writer    the writer
 * @param feature   the feature; an earlier value is replaced
 * @param data      the bytes, which are copied
 * @param size      number of bytes
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_writer_set_feature(struct perch_writer *writer, enum perch_feature feature,
				       const void *data, size_t size, struct perch_error *err);

/**
 * Sets the features that describe the machine, the command and the events.
 *
 * They are HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS, CPUDESC, CPUID, TOTAL_MEM, CMDLINE,
 * EVENT_DESC, PMU_MAPPINGS, CPU_TOPOLOGY and GROUP_DESC. Those whose values are not available are
 * left out.
 *
 * @param writer    the writer
 * @param version   version of the recorder
 * @param argc      number of arguments of the command; 0 leaves CMDLINE out
 * @param argv      arguments of the command
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_writer_describe(struct perch_writer *writer, const char *version, int argc,
				    char *const *argv, struct perch_machine *machine,
				    struct perch_error *err);

/**
 * Adds the BPF programs that are loaded, and that the file does not have yet, to the features
 * BPF_PROG_INFO and BPF_BTF: name, tag, addresses, machine code and source lines. A user who may
 * not list programs (CAP_SYS_ADMIN) gets none, which is no failure.
 *
 * @param writer    the writer
 * @param machine   its system calls; NULL is this machine
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_writer_add_bpf_programs(struct perch_writer *writer,
					    struct perch_machine *machine, struct perch_error *err);

/**
 * Sets the feature SAMPLE_TIME.
 *
 * @param writer    the writer
 * @param first     time of the first sample in nanoseconds
 * @param last      time of the last sample in nanoseconds
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_writer_set_sample_time(struct perch_writer *writer, uint64_t first,
					   uint64_t last, struct perch_error *err);

/**
 * Adds an entry to the feature BUILD_ID.
 *
 * @param writer    the writer
 * @param misc      PERCH_MISC_USER or PERCH_MISC_KERNEL
 * @param build_id  the build id
 * @param size      bytes of the build id, 1 to 20
 * @param path      path of the file, as in its MMAP records
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_writer_add_build_id(struct perch_writer *writer, uint16_t misc,
					const uint8_t *build_id, size_t size, const char *path,
					struct perch_error *err);

/** Returns the number of bytes of records that the file has, as they are compressed. */
PERCH_API uint64_t perch_writer_size(const struct perch_writer *writer);

/** Returns the number of bytes of records that the file has, before they were compressed. */
PERCH_API uint64_t perch_writer_record_bytes(const struct perch_writer *writer);

/**
 * Writes the features, closes the file and frees the writer, also after a failure.
 *
 * @param writer    the writer; NULL is allowed
 * @param[out] err  the reason of a failure
 * @return 0 if the file is complete, or a negative errno
 */
PERCH_API int perch_writer_close(struct perch_writer *writer, struct perch_error *err);

/* ---- Reading ---- */

/** A file that is being read. */
struct perch_reader;

/** The order of the records. */
enum perch_order {
	PERCH_ORDER_FILE, /**< as in the file */
	/**
	 * By time. Records without a time stay near their position in the file. Records are sorted
	 * some rounds of the recorder at a time (FINISHED_ROUND). The files of a directory are read
	 * side by side. A file without rounds, and a directory with compressed records, need 16
	 * bytes of memory per record.
	 */
	PERCH_ORDER_TIME,
};

/** Errors in a file. The numbers are complete after the last record. */
struct perch_reader_damage {
	/** Bytes that are missing: the data size in the header minus that of the file. */
	uint64_t missing_bytes;
	/** Bytes that were skipped after a record of invalid size, or that could not be
	 * decompressed. */
	uint64_t corrupt_bytes;
	/** Records that could not be decoded. */
	uint64_t undecoded_records;
	/** Records of unknown types. They are delivered. */
	uint64_t unknown_records;
	/** In a directory: number of missing files data.N with N below the highest one. */
	uint32_t missing_files;
	/** The recorder did not close the file: it has no features. */
	bool unfinished;
	/** The limit of decompressed bytes was reached: 64 MiB plus 2048 times the file's size, or
	 * 256 MiB plus 256 times its size in memory at once. The rest is part of corrupt_bytes. */
	bool too_large;
	/** PERCH_ORDER_TIME: records that were delivered after a newer record, because the rounds
	 * in the file are wrong. */
	uint64_t late_records;
	/** Features of the header that this version does not read, and the number of the first. */
	uint32_t unknown_features, unknown_feature;
	/** Parts of the functions that the recording has cannot be read:
	 * perch_reader_recorded_files(). */
	bool damaged_functions;
	uint64_t reserved[1]; /**< for members of later versions */
};

/**
 * Opens a recording of any perf or perch, of either byte order.
 *
 * It may be a file, a piped recording, or a directory of `perf record --threads`: its files become
 * one stream of records. Compressed records need libzstd at build time.
 *
 * Input from a pipe is read to its end first, into an unnamed file in $TMPDIR or /var/tmp. So is
 * what a file that is compressed by gzip, xz or zstd has, up to 256 times its size and 64 MiB, and
 * as far as 64 MiB of the disk stay free.
 *
 * Files are mapped. If another program truncates a file, reading it raises SIGBUS, as with any
 * mapped file. Other changes are safe.
 *
 * @param[out] reader  the new reader; NULL after a failure
 * @param path         a file, a directory or a FIFO; "-" is standard input
 * @param order        the order of the records
 * @param[out] err     the reason of a failure. Its kind is PERCH_ERROR_FORMAT if this is not a
 *                     perf.data file, PERCH_ERROR_TRUNCATED if the list of events is not complete,
 *                     PERCH_ERROR_UNSUPPORTED_FILE for unsupported formats.
 * @return 0, or a negative errno
 */
PERCH_API int perch_reader_open(struct perch_reader **reader, const char *path,
				enum perch_order order, struct perch_error *err);

/**
 * Returns true for a regular file that begins as a recording, also if it is compressed, and for a
 * directory whose file "data" is one. Files that cannot be read are none.
 */
PERCH_API bool perch_is_recording(const char *path);

/**
 * Opens a recording by a descriptor, as perch_reader_open() does by a path.
 *
 * @param[out] reader  the new reader; NULL after a failure
 * @param fd           a file, a directory, a pipe or a socket. A file is mapped if its file offset
 *                     is 0; otherwise it is read from its offset on, as a pipe is. The descriptor
 *                     stays open, and the reader does not use it after this call.
 * @param order        the order of the records
 * @param[out] err     the reason of a failure, as of perch_reader_open()
 * @return 0, or a negative errno
 */
PERCH_API int perch_reader_open_fd(struct perch_reader **reader, int fd, enum perch_order order,
				   struct perch_error *err);

/**
 * Returns the owner of the file.
 *
 * Another user may have written any content into the file. perf(1) reads it only with -f if the
 * owner is neither the user nor root.
 *
 * @param reader      the reader
 * @param[out] owner  the user id
 * @return 0, or -ENODATA if the recording was opened by a descriptor, or is from standard input or
 *         a pipe. Has no other errors, so it needs no err.
 */
PERCH_API int perch_reader_get_owner(const struct perch_reader *reader, uid_t *owner);

/** When a recording was made, by the wall clock, in ns since 1970. */
struct perch_recording_times {
	uint64_t start;	      /**< not after its first sample; 0 if unknown */
	uint64_t end;	      /**< not before its last sample; 0 if unknown */
	uint64_t reserved[2]; /**< 0 */
};

/**
 * Returns when the recording was made.
 *
 * The file says it by the features CLOCK_DATA and SAMPLE_TIME, so a copy has the same times. Of a
 * recorder of perch that was killed, the start is known, the end is not.
 * perf(1) writes the first of them only with -k.
 *
 * @param reader      the reader
 * @param[out] times  the times
 */
PERCH_API void perch_reader_get_times(const struct perch_reader *reader,
				      struct perch_recording_times *times);

/**
 * Converts a time of a record to the wall clock, by the feature CLOCK_DATA.
 *
 * @param reader   the reader
 * @param time     by the clock of the recording
 * @param[out] ns  the same in ns since 1970
 * @return 0, or -ENODATA if the recording does not have the feature. Has no other errors, so it
 *         needs no err.
 */
PERCH_API int perch_reader_time_of_day(const struct perch_reader *reader, uint64_t time,
				       uint64_t *ns);

/** What a recording cost the machine that was measured. Times are in nanoseconds. */
struct perch_recording_cost {
	/** CPU time of one sample of a timer, see perch_machine_sample_cost(). 0: not measured,
	 * because no timer took more than 1000 samples per second, or unknown. */
	uint64_t sample_ns;
	uint64_t rate;	      /**< samples per second of the timers, of one CPU or thread */
	uint64_t samples;     /**< of the timers; 0 if other events were sampled, too */
	uint64_t recorder_ns; /**< CPU time of the recorder */
	uint64_t elapsed_ns;  /**< in this time */
	uint64_t cpus;	      /**< CPUs that were recorded; 0 if threads were */
	uint64_t reserved[2]; /**< 0 */
};

/**
 * Returns what a recording of perch cost.
 *
 * @param reader     the reader
 * @param[out] cost  the cost; zeros after a failure
 * @return 0, or -ENODATA if the recording does not have the feature. Has no other errors, so it
 *         needs no err.
 */
PERCH_API int perch_reader_cost(const struct perch_reader *reader,
				struct perch_recording_cost *cost);

/** Closes a recording. NULL is allowed. */
PERCH_API void perch_reader_close(struct perch_reader *reader);

/**
 * Returns the byte order of the recording machine.
 *
 * The bytes of features have this order too.
 *
 * @param reader  the reader
 * @return PERCH_BYTES_NATIVE, or the other byte order
 */
PERCH_API enum perch_byte_order perch_reader_byte_order(const struct perch_reader *reader);

/** Returns the architecture by the feature ARCH, or PERCH_ARCH_UNKNOWN without it. */
PERCH_API enum perch_arch perch_reader_arch(const struct perch_reader *reader);

/**
 * Returns the events of the file.
 *
 * Names are from the feature EVENT_DESC; without it, those of tracepoints are from TRACING_DATA,
 * and others are made from the attrs.
 *
 * @param reader       the reader
 * @param[out] events  the events; valid until perch_reader_close()
 * @return the number of events
 */
PERCH_API size_t perch_reader_events(const struct perch_reader *reader,
				     const struct perch_file_event **events);

/**
 * Delivers the next record.
 *
 * Records that cannot be decoded are counted and skipped. COMPRESSED records are delivered,
 * followed by the records in them.
 *
 * @param reader       the reader
 * @param[out] record  the record; its pointers are valid until the next call
 * @param[out] err     the reason of a failure
 * @return 1, 0 at the end, or a negative errno
 * @retval -ENOMEM   out of memory
 * @retval -EBADMSG  a record cannot be decoded (only after perch_reader_keep_damaged())
 */
PERCH_API int perch_reader_next(struct perch_reader *reader, struct perch_record *record,
				struct perch_error *err);

/**
 * Selects whether perch_reader_next() returns -EBADMSG for a record that cannot be decoded.
 *
 * In that case type, misc, size, bytes and offset of the record are valid, the error has the field
 * and its byte offset, and the next call continues after the record. It is counted in any case.
 *
 * @param reader  the reader
 * @param keep    false (the default) skips such records
 */
PERCH_API void perch_reader_keep_damaged(struct perch_reader *reader, bool keep);

/**
 * Merges deferred user call chains into the samples that they belong to.
 *
 * The samples are then delivered right before the CALLCHAIN_DEFERRED record that completes them. A
 * sample whose record is missing stays incomplete (perch_chain.deferred), and is delivered before
 * the next sample of its thread that is completed, or last. Use PERCH_ORDER_TIME: a thread may
 * return to user space on another CPU. Has no effect and no cost if no event has
 * attr.defer_callchain. See struct perch_deferred.
 *
 * @param reader    the reader, before the first record
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_reader_merge_deferred(struct perch_reader *reader, struct perch_error *err);

/** Continues with the first record. */
PERCH_API void perch_reader_rewind(struct perch_reader *reader);

/** Returns the errors in the file so far, in *damage. */
PERCH_API void perch_reader_get_damage(const struct perch_reader *reader,
				       struct perch_reader_damage *damage);

/** Returns the bytes of records that were read so far in *done, and of all records in *total. */
PERCH_API void perch_reader_progress(const struct perch_reader *reader, uint64_t *done,
				     uint64_t *total);

/**
 * Returns the bytes of a feature.
 *
 * @param reader     the reader
 * @param feature    the feature
 * @param[out] data  the bytes, in the file's byte order; valid until perch_reader_close()
 * @param[out] size  number of bytes
 * @return 0; or -ENOENT if the file does not have the feature, the only error, so it needs no err
 */
PERCH_API int perch_reader_feature(const struct perch_reader *reader, enum perch_feature feature,
				   const void **data, size_t *size);

/**
 * Returns the format of a recorded tracepoint, from the feature TRACING_DATA.
 *
 * @param reader       the reader, which caches the format
 * @param id           perch_attr.config of the tracepoint
 * @param[out] format  the format; valid until perch_reader_close(); NULL after a failure
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOENT   the file does not have the format
 * @retval -EBADMSG  the text of the format is invalid
 * @retval -ENOMEM   out of memory
 */
PERCH_API int perch_reader_tracepoint(struct perch_reader *reader, uint64_t id,
				      const struct perch_tracepoint_format **format,
				      struct perch_error *err);

/**
 * Returns the text of the format of a recorded tracepoint, for another parser.
 *
 * @param reader     the reader
 * @param id         perch_attr.config of the tracepoint
 * @param[out] text  the text and its system, in the file: valid until perch_reader_close()
 * @param[out] err   the reason of a failure
 * @return 0, or a negative errno, as perch_reader_tracepoint()
 */
PERCH_API int perch_reader_tracepoint_text(struct perch_reader *reader, uint64_t id,
					   struct perch_tracepoint_text *text,
					   struct perch_error *err);

/**
 * Returns the strings of the kernel that samples of tracepoints have by their addresses, as the
 * file printk_formats of tracefs: lines such as '0xffffffff82a1b2c3 : "text"'.
 *
 * @param reader     the reader
 * @param[out] text  the lines, in the file: valid until perch_reader_close(), not NUL-terminated
 * @param[out] size  their bytes
 * @return 0, or a negative errno; it needs no err, because each errno has one reason
 * @retval -ENOENT  the file does not have them
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_reader_trace_strings(struct perch_reader *reader, const char **text,
					 size_t *size);

/** Returns the name of a feature, such as "HOSTNAME", or NULL for an unknown one. */
PERCH_API const char *perch_feature_name(enum perch_feature feature);

/**
 * Returns the value of a text feature.
 *
 * @param reader   the reader
 * @param feature  HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC or CPUID
 * @return the text, which is not trusted, or NULL if the file does not have the feature
 */
PERCH_API const char *perch_reader_text(const struct perch_reader *reader,
					enum perch_feature feature);

/**
 * Returns the command line of the recorder, by the feature CMDLINE.
 *
 * @param reader          the reader
 * @param[out] arguments  the arguments, which are not trusted
 * @return the number of arguments; 0 without the feature
 */
PERCH_API size_t perch_reader_command_line(const struct perch_reader *reader,
					   const char *const **arguments);

/**
 * Reads where the CPUs of the recorded machine are, by the features NRCPUS, CPU_TOPOLOGY and
 * NUMA_TOPOLOGY.
 *
 * @param reader     the reader
 * @param[out] cpus  the CPUs by their numbers, with -1 for what the file lacks; the caller frees
 *                   them with free(3)
 * @param[out] nr    the number of CPUs; 0 without NRCPUS
 * @return 0 or -ENOMEM
 */
PERCH_API int perch_reader_topology(const struct perch_reader *reader,
				    struct perch_cpu_topology **cpus, size_t *nr);

/** What a file of struct perch_recorded_file is. */
enum perch_recorded_kind {
	PERCH_RECORDED_KERNEL, /**< the kernel: its addresses are those of the recording */
	PERCH_RECORDED_MODULE, /**< a kernel module */
	PERCH_RECORDED_ELF,    /**< a program or shared object */
	PERCH_RECORDED_DEX,    /**< bytecode of Android: its addresses are offsets in the file */
	PERCH_RECORDED_JIT,   /**< code of a JIT compiler: its addresses are those of the process */
	PERCH_RECORDED_OTHER, /**< unknown */
};

/** A function of a file in the recording. */
struct perch_recorded_function {
	uint64_t address;     /**< first virtual address, by the kind of the file */
	uint64_t size;	      /**< bytes; 0 if unknown */
	const char *name;     /**< not trusted */
	uint64_t reserved[1]; /**< for members of later versions */
};

/** A file whose functions the recording has. */
struct perch_recorded_file {
	const char *path;	       /**< as in MMAP records; not trusted */
	enum perch_recorded_kind kind; /**< what it is */
	uint64_t address;	       /**< lowest virtual address of its code */
	/** Offset of that address: in the file, of a module in its memory. UINT64_MAX: unknown. */
	uint64_t offset;
	const struct perch_recorded_function *functions; /**< in any order */
	size_t nr_functions;				 /**< how many */
	uint64_t reserved[2];				 /**< for members of later versions */
};

/**
 * Returns the files whose functions the recording has: simpleperf, the recorder of Android, writes
 * the functions that samples hit. Sessions use them.
 *
 * @param reader      the reader
 * @param[out] files  the files; valid until perch_reader_close()
 * @return how many; 0 for recordings of other recorders
 */
PERCH_API size_t perch_reader_recorded_files(const struct perch_reader *reader,
					     const struct perch_recorded_file **files);

/**
 * Calls a function for each field of a record, also of perf.data's own types.
 *
 * Records of the kernel are passed to perch_record_fields(). If a record is too short for its type,
 * the fields that it has are emitted. Bytes without a field are emitted as "rest", as are the bytes
 * of records of unknown type.
 *
 * @param reader    the reader, whose architecture determines the names of registers; NULL is
 * allowed
 * @param record    the record
 * @param function  called for each field; a result that is not 0 ends the calls
 * @param context   passed to function
 * @return 0, or the result of function; it has no errors of its own
 */
PERCH_API int perch_file_record_fields(struct perch_reader *reader,
				       const struct perch_record *record,
				       perch_field_function *function, void *context);

/**
 * Calls a function for the fields of an attr: type, size, config, and all others that are not 0.
 *
 * Names and order are the kernel's. A word with several names has the one that applies to the
 * event: sample_freq with freq, sample_period without; bp_addr for breakpoints, config1 for others.
 * Masks whose bits have names are PERCH_FIELD_FLAGS.
 *
 * @param attr      the attr
 * @param function  called for each field; a result that is not 0 ends the calls
 * @param context   passed to function
 * @return 0, or the result of function; it has no errors of its own
 */
PERCH_API int perch_attr_each_field(const struct perch_attr *attr, perch_field_function *function,
				    void *context);

/** An entry of the feature BUILD_ID. */
struct perch_build_id {
	const char *path;     /**< as in the MMAP record; "[kernel.kallsyms]" for the kernel */
	uint16_t misc;	      /**< PERCH_MISC_USER, PERCH_MISC_KERNEL, ... */
	uint8_t size;	      /**< bytes of the build id, at most 20 */
	uint8_t bytes[20];    /**< the build id */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Returns the entries of the feature BUILD_ID.
 *
 * @param reader    the reader
 * @param[out] ids  the entries; valid until perch_reader_close()
 * @return the number of entries
 */
PERCH_API size_t perch_reader_build_ids(const struct perch_reader *reader,
					const struct perch_build_id **ids);

/**
 * Prints the header as `perf report --header-only` does ("# hostname : ..."). Names are cleaned.
 *
 * @param reader  the reader
 * @param stream  the output
 * @return 0; or -EIO after an error of the stream, ferror(3) reports it too, so it needs no err
 */
PERCH_API int perch_reader_print_header(struct perch_reader *reader, FILE *stream);

/**
 * Prints the header as perch_reader_print_header(), with the features that it only announces:
 * CPU_TOPOLOGY, NUMA_TOPOLOGY, CACHE, MEM_TOPOLOGY and HYBRID_TOPOLOGY.
 *
 * @param reader  the reader
 * @param stream  the output
 * @return as perch_reader_print_header()
 */
PERCH_API int perch_reader_print_long_header(struct perch_reader *reader, FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
