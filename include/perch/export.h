/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Exports: the samples of a recording in the formats of other tools.
 *
 * An export collects samples of a session, added up by stack, thread and event, and then writes a
 * file. Names are looked up once for each distinct address, when the file is written.
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per object at a time, together with its session.
 *
 * Fork: a child has copies of the objects, and can use and free them. Nothing that it does changes
 * the objects of the parent. An export with .threads that is not written can only be freed there,
 * and some of its memory stays allocated: other functions return -ESTALE.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_EXPORT_H
#define PERCH_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/error.h>
#include <perch/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The formats of perch_export_write(). */
enum perch_export_format {
	/** One line per stack: the name of the thread and the functions from the outermost one on,
	 * separated by semicolons, then a space and the sum of periods. It is the input of
	 * flamegraph.pl, inferno, speedscope and others. */
	PERCH_EXPORT_FOLDED,
	/** The processed profile of the Firefox Profiler, compressed by gzip: samples and markers
	 * (context switches, mappings, lost records, tracepoints) of each thread by time, and
	 * counters of groups that their leader samples. */
	PERCH_EXPORT_FIREFOX,
	/** JSON for scripts: functions with their sums, and the tree of stacks; see
	 * perch-export(1). */
	PERCH_EXPORT_JSON,
	/** profile.proto of pprof, compressed by gzip. */
	PERCH_EXPORT_PPROF,
	/** The JSON format of speedscope: the samples of each thread and event in the order of
	 * time. */
	PERCH_EXPORT_SPEEDSCOPE,
	/** A flame graph as an HTML file that any browser opens, without network. It has
	 * the samples of all events, threads, CPUs and times, among which its controls select, and
	 * what threads and CPUs did when, if perch_export_add_record() gets all records. */
	PERCH_EXPORT_PAGE,
	/** A flame graph as a picture without a script: SVG. It has the samples of one event.
	 */
	PERCH_EXPORT_SVG,
	/** A trace of Perfetto, compressed by gzip, which ui.perfetto.dev opens: what CPUs and
	 * threads did when, wakeups, and the samples of all events with their call stacks and
	 * counts. perch_export_add_record() needs all records, in the order of time. */
	PERCH_EXPORT_PERFETTO,
	/** OTLP profiles: the request that an OpenTelemetry Collector and other engines take. */
	PERCH_EXPORT_OTLP,
};

/** How the library writes a format. */
struct perch_export_format_methods;

/** A format. */
struct perch_export_format_info {
	const char *name;      /**< as in `perch export --format` */
	const char *extension; /**< of its files, without a dot: "pb.gz" */
	bool binary;	       /**< not to be written to a terminal */
	bool flame_graph;      /**< of `perch flamegraph`; it can be made of text */
	/** Has markers: samples of other events are some, and a file without samples has others. */
	bool markers;
	bool timeline; /**< has what threads did: a file without samples has something, too */
	const struct perch_export_format_methods *methods; /**< of the library */
	uint64_t reserved[4];				   /**< 0 */
};

/**
 * Returns the formats.
 *
 * @param[out] nr  their number
 * @return the formats, by enum perch_export_format; a build without the library that a format
 *         needs has it, too, see perch_export_new()
 */
PERCH_API const struct perch_export_format_info *perch_export_formats(size_t *nr);

/** An export. */
struct perch_export;

/** What an export has. All members may be 0. */
struct perch_export_options {
	/** Folded stacks: begin with NAME-PID. OTLP: samples have process.pid. */
	unsigned pid : 1;
	/** Folded stacks: begin with NAME-PID/TID. OTLP: samples have thread.id, too. */
	unsigned tid : 1;
	/** Folded stacks: functions of the kernel end with "_[k]". */
	unsigned mark_kernel : 1;
	/** Folded stacks: inlined functions end with "_[i]". */
	unsigned mark_inlined : 1;
	/** Folded stacks: functions of a JIT compiler end with "_[j]". */
	unsigned mark_jit : 1;
	/** Leaves out inlined functions, which is faster: pprof files then have no lines. */
	unsigned no_inline : 1;
	/** pprof, OTLP: each address is a location, for -disasm. Without it, addresses with the
	 * same functions and lines are one location, and files are many times smaller. */
	unsigned addresses : 1;
	/** Samples are those of perch_session_add_chain(), which is faster. The export alone calls
	 * perch_session_number_chains() of its session. */
	unsigned add_chain : 1;
	/** The library may use threads of its own; the file is the same. One adds samples up while
	 * the program reads the next ones: it starts after at most 1280 samples, has all signals
	 * blocked but SIGBUS, and ends in perch_export_write() or perch_export_free(). One
	 * compresses pprof files and those for the Firefox Profiler while their next part is made:
	 * it starts after at most 256 KiB, and ends before perch_export_write() returns. It has all
	 * signals blocked but SIGBUS, and SIGPIPE and SIGXFSZ of its writes. */
	unsigned threads : 1;
	/** OTLP: samples have their times. */
	unsigned timestamps : 1;
	/** Samples are left out by their thread, time or function: a page then has no states of
	 * threads, because it is not known what they did in between. */
	unsigned selected : 1;
	/** Page, SVG: the title; NULL is a general one. It must outlive the export. */
	const char *title;
	/** Page, SVG: an export with the samples to compare with, of the format PERCH_EXPORT_PAGE
	 * or PERCH_EXPORT_SVG. Frames are colored by how their share has changed. It must outlive
	 * the export. */
	struct perch_export *old;
	/** Page, SVG: the name of old; NULL is a general one. It must outlive the export. */
	const char *old_title;
	/** The name of the event whose samples are written, as in perch_reader_events(), or of
	 * events of a hybrid CPU that are one: "cycles:u" is cpu_core/cycles/u and
	 * cpu_atom/cycles/u. In files for the Firefox Profiler samples of other events become
	 * markers. NULL: the event with the most samples in folded stacks, pictures and files for
	 * the Firefox Profiler, and all events in other formats, whose default it is. It must
	 * outlive the export. */
	const char *event;
	uint64_t reserved[4]; /**< must be 0 */
};

/** What was written. */
struct perch_export_stats {
	uint64_t samples; /**< samples that were added */
	/** different stacks of addresses, threads and events; complete after perch_export_write()
	 */
	uint64_t stacks;
	/** samples of other events, which are left out, or markers of the Firefox Profiler;
	 * complete after perch_export_write() */
	uint64_t other;
	uint64_t unreadable;  /**< lines of text that are neither stacks nor of perf script */
	uint64_t cut;	      /**< frames of text below 1024 others, which are left out */
	uint64_t reserved[3]; /**< for members of later versions */
};

/**
 * Creates an export without samples.
 *
 * @param[out] exports  the new export; NULL after a failure
 * @param session      must outlive the export, and must not be rewound; NULL is allowed for a page
 *                     or picture that is made of text only
 * @param format       the format
 * @param options      NULL is all 0
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL   there is no such format or event, or a reserved member is not 0
 * @retval -ENOTSUP  perch was built without the library that the format needs
 * @retval -ENOMEM   out of memory
 */
PERCH_API int perch_export_new(struct perch_export **exports, struct perch_session *session,
			       enum perch_export_format format,
			       const struct perch_export_options *options, struct perch_error *err);

/** Frees an export. NULL is allowed. */
PERCH_API void perch_export_free(struct perch_export *exports);

/**
 * Adds a sample. Folded stacks have one number per line, so they have samples of one event
 * (perch_export_options.event).
 *
 * @param exports    the export
 * @param sample    a sample that perch_session_next_sample() or perch_session_resolve() returned;
 *                  with .add_chain one of perch_session_add_chain()
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_export_add(struct perch_export *exports,
			       const struct perch_session_sample *sample, struct perch_error *err);

/**
 * Adds a record that is not a sample: context switches, mappings and lost records are markers in
 * files for the Firefox Profiler, and traces of Perfetto and pages have what threads did. Other
 * records, and other formats, ignore it. Records without a time or a thread are ignored.
 *
 * @param exports   the export
 * @param record    the last record that perch_session_next() delivered
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_export_add_record(struct perch_export *exports,
				      const struct perch_record *record, struct perch_error *err);

/**
 * Adds stacks of a text: folded stacks (PERCH_EXPORT_FOLDED), whose numbers may have fractions, or
 * the output of perf script, which has single samples. The first line that is one of them decides;
 * a header of perf script without a time is one if a frame follows it. Empty lines, and lines that
 * begin with '#', are not read. Other lines are counted (perch_export_stats.unreadable).
 *
 * The first name of a folded stack is that of its thread. Its functions can have marks for the
 * kernel ("_[k]"), inlined functions ("_[i]") and JIT compilers ("_[j]").
 *
 * @param exports   an export of the format PERCH_EXPORT_PAGE or PERCH_EXPORT_SVG
 * @param in        the text, which is read to its end
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL  another format, no line can be read, or no sample is of
 *                  perch_export_options.event
 * @retval -EILSEQ  a byte is a control character: it is no text; the export may have some of its
 *                  stacks
 * @retval -EOVERFLOW  the sum of the numbers of a stack is above 2^64 - 1
 * @retval -ENOMEM  out of memory
 * @return other    the errno of a failed read
 */
PERCH_API int perch_export_add_text(struct perch_export *exports, FILE *in,
				    struct perch_error *err);

/**
 * Writes the file.
 *
 * @param exports    the export
 * @param out       a stream that is open for writing; it is flushed
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory
 * @retval -EFBIG   the file would be larger than 2 GiB, the limit of pprof's format
 * @return other    the errno of a failed write
 */
PERCH_API int perch_export_write(struct perch_export *exports, FILE *out, struct perch_error *err);

/** Returns what was added, in *stats. */
PERCH_API void perch_export_get_stats(const struct perch_export *exports,
				      struct perch_export_stats *stats);

/**
 * Returns the number of intervals of threads that may be wrong, because switches are missing: in
 * pages and in traces of Perfetto, after perch_export_write(). 0 in other formats.
 */
PERCH_API uint64_t perch_export_uncertain(const struct perch_export *exports);

#ifdef __cplusplus
}
#endif
#endif
