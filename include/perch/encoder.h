/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Profiles of any stacks in the formats of profiling engines: pprof and OTLP.
 *
 * A program adds frames, call chains and labels, each once, and gets numbers for them. A sample is
 * a call chain, labels and values; samples that differ in nothing else are added up. Then the
 * profile is written. Numbers begin with 1, and 0 is none. `perch export` uses it for recordings:
 *
 *     struct perch_encoder_event event = { .name = "cpu", .unit = "nanoseconds",
 *                                          .sample_ns = 10000000 };
 *     struct perch_encoder_options options = { .events = &event, .nr_events = 1 };
 *     struct perch_encoder_line line = { .name = "main" };
 *     struct perch_encoder_location location = { .lines = &line, .nr_lines = 1 };
 *     struct perch_encoder_sample sample = { .samples = 3, .value = 30000000 };
 *     uint32_t number;
 *
 *     perch_encoder_new(&encoder, &options, &err);
 *     perch_encoder_add_location(encoder, &location, &number, &err);
 *     perch_encoder_add_stack(encoder, 0, number, &sample.stack, &err);
 *     perch_encoder_add(encoder, &sample, &err);
 *     perch_encoder_write(encoder, PERCH_ENCODER_PPROF, PERCH_ENCODER_GZIP, out, &err);
 *
 * Texts are copied, and cleaned as by perch_clean_text(): they are valid UTF-8 without control
 * characters. Of a text, PERCH_ENCODER_MAX_TEXT bytes are kept.
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per object at a time.
 *
 * Fork: a child has copies of the objects, and can use and free them.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_ENCODER_H
#define PERCH_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/error.h>
#include <perch/file.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The formats of perch_encoder_write(). */
enum perch_encoder_format {
	/** profile.proto of pprof. */
	PERCH_ENCODER_PPROF,
	/** An ExportProfilesServiceRequest of opentelemetry.proto.profiles.v1development, with the
	 * field numbers of opentelemetry-proto 1.10 and later: the body of a POST to
	 * /v1development/profiles. */
	PERCH_ENCODER_OTLP,
};

/** How a file is written. */
enum perch_encoder_flags {
	PERCH_ENCODER_GZIP = 1 << 0,	/**< compressed by gzip */
	PERCH_ENCODER_THREADS = 1 << 1, /**< a thread may compress: perch_export_options.threads */
};

/** Bytes of a text that are kept. */
#define PERCH_ENCODER_MAX_TEXT 4095
/** Functions of a location that are kept: the inner ones. */
#define PERCH_ENCODER_MAX_LINES 256

/**
 * What is sampled. pprof has a value for the number of samples and one for each event; OTLP has a
 * profile for each event.
 *
 * The first event with sample_ns is the CPU time, "cpu" in nanoseconds, the name that engines know.
 * In pprof its values are the added ones if unit is "nanoseconds". If not, they are sample_ns for
 * each sample, next to the added ones; the number of samples is that of CPU time, because engines
 * multiply it by the period. In OTLP, values are numbers of samples and the period is
 * sample_ns, the form that all engines read.
 */
struct perch_encoder_event {
	const char *name;     /**< "cycles"; it must not be NULL */
	const char *unit;     /**< of values: "count", "nanoseconds", "bytes"; NULL is "count" */
	uint64_t period;      /**< what lies between two samples, in unit; 0: it varies */
	uint64_t sample_ns;   /**< CPU time of a sample, 10^9 / Hz; 0: not sampled by time */
	uint64_t reserved[2]; /**< must be 0 */
};

/** A label: a text, or a number. */
struct perch_encoder_label {
	/** A name of OpenTelemetry's conventions, if there is one: "thread.name". pprof has "comm",
	 * "pid", "tid" and "cgroup" for thread.name, process.pid, thread.id and
	 * process.linux.cgroup, and underscores for periods, which engines do not have there. It
	 * must not be NULL. */
	const char *key;
	const char *text; /**< NULL: number is the value */
	int64_t number;	  /**< if text is NULL */
	const char *unit; /**< of the number; NULL: none */
	/** Is of the resource: samples with other values of it are of other ResourceProfiles of
	 * OTLP. Container and service are. pprof has it as the other labels. */
	bool resource;
	uint64_t reserved[2]; /**< must be 0 */
};

/** What a profile has. All members but the events may be 0. */
struct perch_encoder_options {
	const struct perch_encoder_event *events; /**< copied */
	size_t nr_events;			  /**< at most 65535 */
	/** Index of the event that programs show first. */
	size_t main_event;
	uint64_t time_ns;     /**< the start, in ns since 1970; 0: unknown */
	uint64_t duration_ns; /**< of the profile; 0: unknown */
	/** OTLP: 16 bytes that no other profile has; a second delivery has the same ones. NULL:
	 * made of the contents. Several profiles of a request have different ones, made of these.
	 */
	const uint8_t *profile_id;
	/** OTLP: attributes of all resources, such as host.name; copied. */
	const struct perch_encoder_label *labels;
	size_t nr_labels;
	/** Each address is a location. Without it, addresses with the same functions and lines are
	 * one, and files are many times smaller. Addresses without a function are always apart. */
	unsigned addresses : 1;
	/** OTLP: samples have the times that they were added with. */
	unsigned timestamps : 1;
	uint64_t reserved[4]; /**< must be 0 */
};

/** Code that addresses are in: a file, the kernel, generated code. */
struct perch_encoder_mapping {
	const char *path;	 /**< NULL: none */
	const uint8_t *build_id; /**< NULL: none */
	size_t build_id_size;	 /**< bytes; at most 64 are written */
	uint64_t start;		 /**< first address */
	uint64_t limit;		 /**< address behind the last one */
	uint64_t offset;	 /**< in the file, of start */
	unsigned functions : 1;	 /**< names of functions are complete: nobody looks for others */
	unsigned lines : 1;	 /**< so are lines and inlined functions */
	uint64_t reserved[2];	 /**< must be 0 */
};

/** A function at a line. */
struct perch_encoder_line {
	const char *name;	 /**< NULL: none */
	const char *system_name; /**< as in the symbol table, "_Zli"; NULL: none */
	const char *file;	 /**< of the source; NULL: unknown */
	uint32_t line;		 /**< from 1 on; 0: unknown */
	uint32_t start_line;	 /**< of the function; 0: unknown */
	uint64_t reserved[2];	 /**< must be 0 */
};

/** A place in the code. */
struct perch_encoder_location {
	uint32_t mapping; /**< number; 0: none */
	/** in the range of the mapping; a number of the program without one; 0: unknown */
	uint64_t address;
	/** innermost first: inlined functions, then the one that contains them */
	const struct perch_encoder_line *lines;
	size_t nr_lines; /**< 0: the engine finds the names by build id and address */
	/** OTLP: what runs it, of profile.frame.type: "kernel", "native", "cpython"; NULL: unknown
	 */
	const char *type;
	uint64_t reserved[2]; /**< must be 0 */
};

/** Samples that differ in nothing but their time. */
struct perch_encoder_sample {
	uint32_t event;	      /**< index in perch_encoder_options.events */
	uint32_t stack;	      /**< number; 0: no call chain */
	uint32_t labels;      /**< number; 0: no labels */
	uint64_t samples;     /**< their number */
	uint64_t value;	      /**< the sum of their values, in the unit of the event */
	uint64_t time_ns;     /**< since 1970; with .timestamps, the time of each addition */
	uint64_t reserved[2]; /**< must be 0 */
};

/** A profile that is being made. */
struct perch_encoder;

/**
 * Describes an event of the kernel for a profile. The clocks, and cycles with a frequency, are
 * sampled by time. Off-CPU time (perch/off_cpu.h) is "off_cpu", the name that engines know. Values
 * are the periods of samples.
 *
 * @param event          the event, as perch_reader_events() returns it; its name must outlive the
 *                       description
 * @param[out] described  the description
 * @return false for an event that has no samples (dummy); described is set nevertheless
 */
PERCH_API bool perch_encoder_describe(const struct perch_file_event *event,
				      struct perch_encoder_event *described);

/**
 * Creates a profile without samples.
 *
 * @param[out] encoder  the new profile; NULL after a failure
 * @param options      what it has
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL  an event is wrong, or a reserved member is not 0
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_encoder_new(struct perch_encoder **encoder,
				const struct perch_encoder_options *options,
				struct perch_error *err);

/** Frees a profile. NULL is allowed. */
PERCH_API void perch_encoder_free(struct perch_encoder *encoder);

/**
 * Adds a mapping. The same one has the same number.
 *
 * @param encoder     the profile
 * @param mapping     the mapping
 * @param[out] number  its number
 * @param[out] err    the reason of a failure
 * @return 0, -ENOMEM, or -EINVAL for a reserved member
 */
PERCH_API int perch_encoder_add_mapping(struct perch_encoder *encoder,
					const struct perch_encoder_mapping *mapping,
					uint32_t *number, struct perch_error *err);

/**
 * Adds a location. The same one has the same number.
 *
 * @param encoder     the profile
 * @param location    the location
 * @param[out] number  its number
 * @param[out] err    the reason of a failure
 * @return 0, -ENOMEM, or -EINVAL for a reserved member or a mapping that was not added
 */
PERCH_API int perch_encoder_add_location(struct perch_encoder *encoder,
					 const struct perch_encoder_location *location,
					 uint32_t *number, struct perch_error *err);

/**
 * Adds a location to a call chain: a call chain is made from the outermost location on. The same
 * one has the same number.
 *
 * @param encoder     the profile
 * @param callers     number of the call chain of its callers; 0: it is outermost
 * @param location    number of the location
 * @param[out] number  that of the call chain
 * @param[out] err    the reason of a failure
 * @return 0, -ENOMEM, or -EINVAL for a number that was not given
 */
PERCH_API int perch_encoder_add_stack(struct perch_encoder *encoder, uint32_t callers,
				      uint32_t location, uint32_t *number, struct perch_error *err);

/**
 * Adds a set of labels. The same labels in the same order have the same number.
 *
 * @param encoder     the profile
 * @param labels      the labels; each key once
 * @param nr          their number
 * @param[out] number  that of the set
 * @param[out] err    the reason of a failure
 * @return 0, -ENOMEM, or -EINVAL for a reserved member or a label without a key
 */
PERCH_API int perch_encoder_add_labels(struct perch_encoder *encoder,
				       const struct perch_encoder_label *labels, size_t nr,
				       uint32_t *number, struct perch_error *err);

/**
 * Adds samples. Sums above 2^63 - 1, the largest value of the formats, stay there.
 *
 * @param encoder   the profile
 * @param sample    the samples
 * @param[out] err  the reason of a failure
 * @return 0, -ENOMEM, or -EINVAL for a reserved member or a number that was not given
 */
PERCH_API int perch_encoder_add(struct perch_encoder *encoder,
				const struct perch_encoder_sample *sample, struct perch_error *err);

/**
 * Writes the profile. It can be written again, and samples can be added afterwards.
 *
 * @param encoder   the profile
 * @param format    the format
 * @param flags     bits of enum perch_encoder_flags
 * @param out       a stream that is open for writing; it is flushed. open_memstream(3) makes one
 *                  in memory.
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL   there is no such format or flag
 * @retval -ENOTSUP  perch was built without the library that the formats need
 * @retval -ENOMEM   out of memory
 * @retval -EFBIG    the profile would be larger than 2 GiB, the limit of the formats
 * @return other     the errno of a failed write
 */
PERCH_API int perch_encoder_write(struct perch_encoder *encoder, enum perch_encoder_format format,
				  unsigned flags, FILE *out, struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif
