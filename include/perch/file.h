/* SPDX-License-Identifier: MIT */
/* perf.data: written so that the file is readable at every moment, read whoever wrote it. */
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

#ifdef __cplusplus
extern "C" {
#endif

/* Record types that user space adds to a file. */
enum perch_file_record {
	PERCH_RECORD_HEADER_ATTR = 64,
	PERCH_RECORD_HEADER_EVENT_TYPE,
	PERCH_RECORD_HEADER_TRACING_DATA,
	PERCH_RECORD_HEADER_BUILD_ID,
	PERCH_RECORD_FINISHED_ROUND,
	PERCH_RECORD_ID_INDEX,
	PERCH_RECORD_AUXTRACE_INFO,
	PERCH_RECORD_AUXTRACE,
	PERCH_RECORD_AUXTRACE_ERROR,
	PERCH_RECORD_THREAD_MAP,
	PERCH_RECORD_CPU_MAP,
	PERCH_RECORD_STAT_CONFIG,
	PERCH_RECORD_STAT,
	PERCH_RECORD_STAT_ROUND,
	PERCH_RECORD_EVENT_UPDATE,
	PERCH_RECORD_TIME_CONV,
	PERCH_RECORD_HEADER_FEATURE,
	PERCH_RECORD_COMPRESSED,
	PERCH_RECORD_FINISHED_INIT,
	PERCH_RECORD_COMPRESSED2,
	PERCH_RECORD_BPF_METADATA,
	PERCH_RECORD_SCHEDSTAT_CPU,
	PERCH_RECORD_SCHEDSTAT_DOMAIN,
};

/* Header features (sections after the data). */
enum perch_feature {
	PERCH_FEATURE_TRACING_DATA = 1,
	PERCH_FEATURE_BUILD_ID,
	PERCH_FEATURE_HOSTNAME,
	PERCH_FEATURE_OSRELEASE,
	PERCH_FEATURE_VERSION,
	PERCH_FEATURE_ARCH,
	PERCH_FEATURE_NRCPUS,
	PERCH_FEATURE_CPUDESC,
	PERCH_FEATURE_CPUID,
	PERCH_FEATURE_TOTAL_MEM,
	PERCH_FEATURE_CMDLINE,
	PERCH_FEATURE_EVENT_DESC,
	PERCH_FEATURE_CPU_TOPOLOGY,
	PERCH_FEATURE_NUMA_TOPOLOGY,
	PERCH_FEATURE_BRANCH_STACK,
	PERCH_FEATURE_PMU_MAPPINGS,
	PERCH_FEATURE_GROUP_DESC,
	PERCH_FEATURE_AUXTRACE,
	PERCH_FEATURE_STAT,
	PERCH_FEATURE_CACHE,
	PERCH_FEATURE_SAMPLE_TIME,
	PERCH_FEATURE_MEM_TOPOLOGY,
	PERCH_FEATURE_CLOCKID,
	PERCH_FEATURE_DIR_FORMAT,
	PERCH_FEATURE_BPF_PROG_INFO,
	PERCH_FEATURE_BPF_BTF,
	PERCH_FEATURE_COMPRESSED,
	PERCH_FEATURE_CPU_PMU_CAPS,
	PERCH_FEATURE_CLOCK_DATA,
	PERCH_FEATURE_HYBRID_TOPOLOGY,
	PERCH_FEATURE_PMU_CAPS,
	PERCH_FEATURE_CPU_DOMAIN_INFO,
	PERCH_FEATURE_E_MACHINE,
	PERCH_FEATURE_CLN_SIZE,
	PERCH_FEATURE_MAX
};

/* ---- writing ---- */

struct perch_file_event {
	struct perch_attr attr;
	const char *name;
	const uint64_t *ids;
	size_t nr_ids;
	/* for a group's leader: it and the events right behind it; else 0 or 1 */
	uint32_t members;
};

struct perch_writer;

/*
 * Creates path, readable by its owner alone (an existing file is renamed to path.old first; a
 * device is written to), writing header, attrs and ids by one write(2). From then on every moment
 * of the file can be read: header.data.size tells what has been written whole.
 */
PERCH_API int perch_writer_open(struct perch_writer **writer, const char *path,
				const struct perch_file_event *events, size_t nr,
				struct perch_error *err);
/*
 * Appends whole records and makes them part of the file: one pwritev(2), then the header's size.
 * Fails with -ENOSPC, -EIO...; the file then still ends where it did before this call, and the
 * writer goes on working.
 */
PERCH_API int perch_writer_append(struct perch_writer *writer, const struct iovec *pieces, int nr,
				  struct perch_error *err);
/* Sets a feature's section (copied), written by perch_writer_close(). */
PERCH_API int perch_writer_set_feature(struct perch_writer *writer, enum perch_feature feature,
				       const void *data, size_t size, struct perch_error *err);
/* The features perf record writes that the machine and the command line tell: HOSTNAME OSRELEASE
 * VERSION ARCH NRCPUS CPUDESC CPUID TOTAL_MEM CMDLINE EVENT_DESC PMU_MAPPINGS CPU_TOPOLOGY
 * GROUP_DESC as far as known. */
PERCH_API int perch_writer_describe(struct perch_writer *writer, struct perch_machine *machine,
				    const char *version, int argc, char *const *argv,
				    struct perch_error *err);
/* First and last time of the samples, ns: feature SAMPLE_TIME. */
PERCH_API int perch_writer_set_sample_time(struct perch_writer *writer, uint64_t first,
					   uint64_t last, struct perch_error *err);
/* One entry of the BUILD_ID feature. misc: PERCH_MISC_USER or _KERNEL. pid -1 for the host. */
PERCH_API int perch_writer_add_build_id(struct perch_writer *writer, uint16_t misc,
					const uint8_t *build_id, size_t size, const char *path,
					struct perch_error *err);
/* Bytes of records so far. */
PERCH_API uint64_t perch_writer_size(const struct perch_writer *writer);
/* Writes the features and ends. The file is complete only when this returns 0. Frees the writer in
 * any case. */
PERCH_API int perch_writer_close(struct perch_writer *writer, struct perch_error *err);

/* ---- reading ---- */

struct perch_reader;

enum perch_order {
	PERCH_ORDER_FILE, /* as they lie in the file */
	PERCH_ORDER_TIME, /* by time; records without a time keep their place */
};

/* What was wrong with the file, told after the last record. */
struct perch_reader_damage {
	uint64_t missing_bytes; /* header's data size minus what the file has */
	/* not read: after a record with an impossible size, or not to be unpacked */
	uint64_t corrupt_bytes;
	uint64_t undecoded_records; /* records whose fields did not fit */
	uint64_t unknown_records;   /* of a type this version does not know; delivered */
	/* of a directory: numbers below that of its last data.N that no file has */
	uint32_t missing_files;
	bool unfinished; /* the recorder did not end cleanly (no features) */
	/*
	 * unpacked, it would be more than 64 times the file and 64 MiB; the rest is in
	 * corrupt_bytes
	 */
	bool too_large;
};

/*
 * Reads what any perf or perch wrote, on a machine of either byte order: files, recorded pipes,
 * directories (perf record
 * --threads: the header and common records in "data", each ring's in "data.N"; one stream, by time
 * or one file behind the other), with compressed records where libzstd is built in.
 * PERCH_ORDER_TIME keeps 16 bytes for each record.
 *
 * path "-" is standard input. That, or a FIFO, is read to its end first, into a file without a name
 * in $TMPDIR (else /var/tmp), so that memory stays free.
 *
 * Files are mapped. One that is made shorter while it is read gives SIGBUS, as any mapped file
 * does; one that grows, or whose bytes change, does no harm.
 *
 * Not a perf.data file: PERCH_ERROR_FORMAT; kinds not read yet: PERCH_ERROR_UNSUPPORTED_FILE. One
 * that is cut off in its list of events: PERCH_ERROR_TRUNCATED.
 */
PERCH_API int perch_reader_open(struct perch_reader **reader, const char *path,
				enum perch_order order, struct perch_error *err);
PERCH_API void perch_reader_close(struct perch_reader *reader);
/* Of the machine that recorded: PERCH_BYTES_NATIVE, or the other order's name. Features' bytes are
 * in this order as well. */
PERCH_API enum perch_byte_order perch_reader_byte_order(const struct perch_reader *reader);
/* By the feature ARCH; PERCH_ARCH_UNKNOWN when the file lacks it. */
PERCH_API enum perch_arch perch_reader_arch(const struct perch_reader *reader);
/* The attrs with their names (EVENT_DESC, or made from the attr) and ids. */
PERCH_API size_t perch_reader_events(const struct perch_reader *reader,
				     const struct perch_file_event **events);
/*
 * 1 and a record, whose views live until the next call; 0 at the end; negative errno (-ENOMEM). A
 * record that cannot be decoded is counted and skipped. COMPRESSED records are delivered too,
 * followed by what is in them.
 */
PERCH_API int perch_reader_next(struct perch_reader *reader, struct perch_record *record,
				struct perch_error *err);
/*
 * With keep, perch_reader_next() gives -EBADMSG for a record that cannot be decoded instead of
 * skipping it: of *record the type, misc, size, bytes and offset are then valid, the error tells
 * the field and its byte offset, and the next call goes on behind it. It is counted in either case.
 */
PERCH_API void perch_reader_keep_damaged(struct perch_reader *reader, bool keep);
/*
 * From here on samples whose user callchain the kernel told later (see struct perch_deferred) come
 * with all of it, right before the CALLCHAIN_DEFERRED record that tells it; what waits in vain
 * comes last, as it is. Costs nothing where no event was recorded so. Before the first record.
 */
PERCH_API int perch_reader_merge_deferred(struct perch_reader *reader, struct perch_error *err);
/* Back to the first record. */
PERCH_API void perch_reader_rewind(struct perch_reader *reader);
PERCH_API void perch_reader_get_damage(const struct perch_reader *reader,
				       struct perch_reader_damage *damage);
/* Bytes of records in all and read so far, for progress. */
PERCH_API void perch_reader_progress(const struct perch_reader *reader, uint64_t *done,
				     uint64_t *total);
/* A feature's bytes, as they lie in the file; -ENOENT when the file lacks it. They live as long as
 * the reader. */
PERCH_API int perch_reader_feature(const struct perch_reader *reader, enum perch_feature feature,
				   const void **data, size_t *size);
/* "HOSTNAME"; NULL when this version does not know it. */
PERCH_API const char *perch_feature_name(enum perch_feature feature);
/* A text feature (HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC, CPUID); NULL when absent. */
PERCH_API const char *perch_reader_text(const struct perch_reader *reader,
					enum perch_feature feature);
/* CMDLINE; 0 and no arguments when absent. */
PERCH_API size_t perch_reader_command_line(const struct perch_reader *reader,
					   const char *const **arguments);

/*
 * perch_record_fields() for all records of a file: calls function for each field of a record of
 * perf.data's own (type 64 and above), and gives the kernel's to perch_record_fields(). Of a record
 * that is too short for its type, or tells more than it holds, the fields that are there, and then
 * as "rest" the bytes that no field is made of; so is a type that this version does not know.
 * reader: tells the machine, whose registers have names; may be NULL.
 */
PERCH_API int perch_file_record_fields(struct perch_reader *reader,
				       const struct perch_record *record,
				       perch_field_function *function, void *context);
/*
 * Calls function for type, size and config of an attr, and for each other field of it that is not
 * 0, by the kernel's names and in its order. Of the names of a word that has several it is the one
 * that holds for this event: sample_freq with freq, else sample_period; bp_addr of a breakpoint,
 * else config1. Masks whose bits have names are WORDS. 0, or what the function returned.
 */
PERCH_API int perch_attr_each_field(const struct perch_attr *attr, perch_field_function *function,
				    void *context);

struct perch_build_id {
	/* as in the MMAP record; "[kernel.kallsyms]" for the kernel */
	const char *path;
	uint16_t misc;
	uint8_t size; /* bytes; at most 20 */
	uint8_t bytes[20];
};
PERCH_API size_t perch_reader_build_ids(const struct perch_reader *reader,
					const struct perch_build_id **ids);
/* The lines of `perf report --header-only` ("# hostname : ..."), names cleaned. 0, or -EIO when the
 * stream failed. */
PERCH_API int perch_reader_print_header(struct perch_reader *reader, FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
