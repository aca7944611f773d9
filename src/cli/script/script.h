/* SPDX-License-Identifier: MIT */
/*
 * perch script: prints every sample as text, in the format that flame graph tools read, or as JSON.
 *
 *   script.c      the command: options, reading, messages
 *   fields.c      the fields of -F
 *   events.c      what is printed of each event of the file
 *   lines.c       the text of a frame, which is made once for each address
 *   start.c       the start of a line
 *   sample.c      a sample as text
 *   group.c       metrics of the counts of a group
 *   queue.c       samples that wait until many of them are printed together, by a thread
 *   data.c        its registers, memory access, branches, BPF output
 *   code.c        the code of binaries, split into instructions
 *   instructions.c  the code that was executed; source lines
 *   trace.c       the fields of tracepoints
 *   records.c     records other than samples (--show-mmap-events and others)
 *   json.c        a sample as JSON
 */
#ifndef PERCH_CLI_SCRIPT_H
#define PERCH_CLI_SCRIPT_H

#include <perch/off_cpu.h>
#include <perch/session.h>

#include "fields.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "output_file.h"
#include "input/switch_options.h"
#include "perf/unsupported.h"
#include "base/output.h"
#include "base/kernel/user_mode.h"

#define SCRIPT_COMMAND	  "script"

#define SCRIPT_MAX_NAME	  2000
#define SCRIPT_MAX_PATH	  4096
#define SCRIPT_COMM_BYTES 4096 /* of the name of a thread with a blank and NUL */
#define SCRIPT_MAX_LINE	  (2 * SCRIPT_MAX_PATH + SCRIPT_MAX_NAME + 128) /* of one frame */

/* ---- lines.c ---- */

/* Lines begin at multiples of it, and so do their texts: they are copied in pieces of this size,
 * which have no bytes of the next line. */
#define SCRIPT_LINE_UNIT 16u

/* The text of a frame, with the lines of the functions inlined in it. */
struct script_line {
	uint32_t length;
	bool stop; /* the call chain ends here (--stop-bt) */
	_Alignas(SCRIPT_LINE_UNIT) char text[];
};

/* The lines of all addresses. */
struct script_lines {
	const struct script *script;
	uint64_t fields; /* that lines have: SCRIPT_SYM and others */
	/*
	 * By address: the offset of the lines of a frame, which are made once, in units, and in the
	 * low bits the kind of code (cpumode_char) of the address; 0 is none. A recording may have
	 * a million addresses. The array is small, so that more of it stays in the CPU's cache, and
	 * the lines are not read before they are printed. Of a sampled address, of a return
	 * address, and of an address that is printed on the line of the sample.
	 */
	struct script_offsets {
		uint32_t *line;
		size_t nr;
	} offsets[3];
	char *buffer; /* for the lines of a frame */
	/* the line at the end of a call chain that the copy of the stack is too short for */
	char truncated[64];
	uint32_t truncated_length;
	/* memory of the lines */
	char **chunk;
	size_t nr_chunks, chunks_capacity, chunk_used;
};

struct script_lines *script_lines_new(const struct script *script, uint64_t fields);
void script_lines_free(struct script_lines *lines);
/*
 * Returns the lines of a frame of a call chain, or NULL if out of memory. cpumode_char: that of the
 * frame before by script_called(), or 0; becomes that of the frame.
 */
const struct script_line *script_lines_chain(struct script_lines *lines, uint32_t number,
					     char *cpumode_char);
/*
 * The kind of code whose next frame has a return address, by the kind of a frame; 0: none. Code of
 * user space that the kernel interrupted was not called from there. has_calls: of the event.
 */
static inline char script_called(bool has_calls, char cpumode_char)
{
	return has_calls && perch__is_user_mode(cpumode_char) ? 0 : cpumode_char;
}
/* The text after the address of a sample without a call chain. NULL if out of memory. */
const struct script_line *script_lines_single(struct script_lines *lines, uint32_t number);
/* Starts to load the offsets of the lines of a call chain. */
void script_lines_prefetch_offsets(const struct script_lines *lines, const uint32_t *chain,
				   size_t nr);
/* True if the call chain ends at this function (--stop-bt). symbol: NULL is allowed. */
bool script_stops_at(const struct script *script, const struct perch_symbol *symbol);
/* Returns the path of a DSO as it is printed. Valid until the script ends. NULL: out of memory. */
const char *script_dso_path(struct script *script, const struct perch_dso *dso);
/* Returns the address with the function that is printed: of a return address, that of the call. */
struct perch_address script_named(const struct script *script, const struct perch_address *address,
				  bool is_return);
struct script_event;
/* Writes the call chain, each frame on its line. Returns 0 or -ENOMEM. */
int script_put_chain(const struct script *script, const struct script_event *event,
		     const struct perch_session_sample *sample);

/* ---- events.c ---- */

/* An event of the file. */
struct script_event {
	const struct perch_file_event *event;
	enum script_type type;
	uint64_t fields;
	bool chain;	 /* its samples have call chains, which are printed */
	bool queued;	 /* its samples are printed by the queue */
	bool branches;	 /* each sample is a branch: "from => to" */
	bool has_calls;	 /* callers in user space have the addresses of their calls */
	bool correlates; /* the address of the sample has a symbol */
	struct perch__output *out;
	struct script_lines *lines;
	const struct perch_tracepoint_format *format; /* of a tracepoint, if the file has it */
	int name_length;
	char name[256]; /* right-aligned, with a colon */
	/* --per-event-dump */
	struct perch__output dump;
	struct cli_output_file file;
	char *path;
	uint64_t samples;
};

/* Sets script->event. Returns 0, or the exit status after it has printed an error. */
int script_events_open(struct script *script);
/* Writes what is left of the files of --per-event-dump. Returns 0, or an exit status. */
int script_events_close(struct script *script);
void script_events_clear(struct script *script);

/* ---- the command ---- */

struct script {
	struct cli_input input;
	struct cli_filter filter;
	struct cli_switch switching;
	struct cli_unsupported unsupported;
	struct script_fields fields;
	/* options */
	bool json, no_inline, no_callchain, full_path, ns, reltime, deltatime, header, header_only,
		long_header;
	bool latency; /* -L */
	bool per_event_dump, dump, dump_unsorted;
	bool show_task, show_mmap, show_switch, show_namespace, show_lost, show_round, show_bpf,
		show_cgroup, show_text_poke;
	uint64_t max_stack;  /* 0: all frames */
	uint64_t max_blocks; /* of brstackinsn; 0: all */
	const char *stop_at;

	struct perch_session *session;
	struct perch_symbols *symbols;
	enum perch_arch arch;
	struct perch__output out;
	struct script_queue *queue;
	struct script_event *event;
	size_t nr_events;
	bool show_records;	      /* an option --show-... */
	struct perch_visitor records; /* by type, what prints a record: 0 or -ENOMEM */
	struct script_lines *lines[SCRIPT_NR_TYPES];
	/* by DSO: its path, NULL until it is needed */
	char **dso;
	size_t nr_dsos;
	/* the last thread names: for samples without and with call chains */
	struct script_comm {
		uint32_t index;
		int length;
		char text[SCRIPT_COMM_BYTES];
	} comm[2];
	uint64_t last_time; /* of --reltime the first, of --deltatime the previous; 0: none */
	int data_src_width;
	uint64_t unformatted;	    /* samples of tracepoints whose format the file lacks */
	struct script_group *group; /* the counts of the last record of a group; NULL: none yet */
	struct script_code *code;   /* the instructions of binaries; NULL until they are needed */
	char *trace;		    /* the text of a tracepoint; NULL until it is needed */
	size_t trace_size;
};

static inline struct script_event *script_event_of(struct script *script,
						   const struct perch_record *record)
{
	return &script->event[record->event];
}

/* ---- start.c ---- */

/* Who and when: what is printed at the start of a line. */
struct script_start {
	const char *comm;    /* name of the thread */
	uint32_t comm_index; /* see perch_thread_comm_index() */
	uint32_t pid, tid, cpu, type;
	uint16_t misc;
	uint64_t time;
	uint64_t period; /* of a sample */
};

struct script_start script_start_of(const struct perch_session_sample *sample);
#define SCRIPT_START_BYTES (512 + SCRIPT_COMM_BYTES)
char *script_put_start(struct script *script, const struct script_event *event,
		       const struct script_start *start, char *at);
/* The same up to the name of the event: "gcc 19780 [001]  4525.042075: 200000 cpu-clock:". */
char *script_put_head(struct script *script, const struct script_event *event,
		      const struct script_start *start, char *at);
/* Writes local date and time, and a blank. */
char *script_put_tod(const struct script *script, char *at, uint64_t time);
/* The time of --reltime or --deltatime; each sample is passed once. */
uint64_t script_relative_time(struct script *script, uint64_t time);

/* ---- sample.c ---- */

/* True if samples of the event have only a start and a call chain. */
bool script_is_queued(const struct script_event *event);
/* Returns 0 or -ENOMEM. */
int script_put_sample(struct script *script, const struct perch_session_sample *sample);

/* ---- data.c ---- */

void script_put_registers(struct script *script, struct perch__output *out,
			  const struct perch_record *record, const struct perch_registers *regs);
void script_put_data_src(struct script *script, struct perch__output *out, uint64_t data_src);
void script_put_page_size(struct perch__output *out, uint64_t size);
void script_put_bpf_output(struct perch__output *out, const struct perch_record *record);
/* Writes how its thread left the CPU, and who woke it. Returns 1; 0 if it is none; or -ENOMEM. */
int script_put_off_cpu(struct script *script, const struct script_event *event,
		       const struct perch_record *record);
/* Writes the branch stack. Returns 0 or -ENOMEM. */
int script_put_branches(struct script *script, const struct script_event *event,
			const struct perch_session_sample *sample);
/* Writes " sym+0x1 (dso)" of a data address of the sample's thread. Returns 0 or -ENOMEM. */
int script_put_location(struct script *script, const struct script_event *event,
			const struct perch_session_sample *sample, uint64_t address);

/* The location of an address that the CPU recorded. */
struct script_target {
	struct perch_location location;
	const struct perch_symbol *symbol;
	const char *dso; /* path */
};

/* Finds the location, without the symbol. Returns 0 or -ENOMEM. */
int script_resolve(struct script *script, const struct perch_session_sample *sample,
		   uint64_t address, struct script_target *target);
/* Looks up the function: not of addresses that are printed as numbers. */
void script_find_symbol(struct script *script, struct script_target *target);
char *script_put_symbol(const struct script *script, char *at, const struct script_target *target,
			bool with_offset);

/* Returns "COND" or another type of a branch; "" if it is unknown. */
const char *script_branch_type(const struct perch_branch_entry *entry);

/* ---- instructions.c ---- */

/* Writes the sampled instruction, and the instructions between the branches of the branch stack.
 * Returns 0 or -ENOMEM. */
int script_put_instructions(struct script *script, const struct script_event *event,
			    const struct perch_session_sample *sample);

/* The sampled instruction, until the next one. */
struct script_instruction {
	const uint8_t *bytes;
	unsigned length;			/* 0: its bytes are not known */
	const struct script_assembly *assembly; /* NULL: not known, or no field needs it */
};

/* Returns 0 or -ENOMEM. */
int script_find_instruction(struct script *script, const struct script_event *event,
			    const struct perch_session_sample *sample,
			    struct script_instruction *instruction);
#define SCRIPT_MAX_ASSEMBLY (SCRIPT_MAX_NAME + 512)
/* Writes "callq name+0x10", and moves *at to its end. Returns 0 or -ENOMEM. */
int script_put_assembly(struct script *script, const struct perch_session_sample *sample,
			const struct script_assembly *assembly, char **at);
/* Writes the source line of the sampled address, if it is not the last one of the thread. Returns 0
 * or -ENOMEM. */
int script_put_source_line(struct script *script, const struct script_event *event,
			   const struct perch_session_sample *sample);

/* ---- code.c ---- */

void script_code_print_notes(const struct script_code *code);
void script_code_free(struct script_code *code);

/* ---- group.c ---- */

struct script_group;
/* Adds the count of an event to those of the other events with the same record. Returns 0 or
 * -ENOMEM. */
int script_group_add(struct script *script, const struct script_event *event,
		     const struct perch_session_sample *sample);
/* Writes the metrics of the counts before this record, unless they are of the same record. */
void script_group_next(struct script *script, const struct perch_record *record);
void script_group_end(struct script *script);
void script_group_free(struct script_group *group);

/* ---- queue.c ---- */

/*
 * Samples with a call chain and the usual fields are printed many at a time, so that memory of
 * their addresses and lines, which is mostly not in the CPU's cache, is loaded at the same time.
 * Their chains are those of perch_session_add_chain().
 */
struct script_queue;
/* threads: a thread may print them, if there are many. */
struct script_queue *script_queue_new(struct script *script, bool threads);
/* What is not printed yet is lost. */
void script_queue_free(struct script_queue *queue);
/* Adds a sample with the first nr addresses of its call chain, and prints if the queue is full.
 * Returns 0 or -ENOMEM. */
int script_queue_add(struct script_queue *queue, const struct script_event *event,
		     const struct perch_session_sample *sample, size_t nr);
/* Prints the samples that are not printed yet: then nothing but the caller prints. Returns 0 or
 * -ENOMEM. */
int script_queue_flush(struct script_queue *queue);
/* True if a thread prints: script->out belongs to it. */
bool script_queue_has_output(const struct script_queue *queue);

/* ---- trace.c, records.c, json.c ---- */

/* Writes the fields of a tracepoint. Returns 0 or -ENOMEM. */
int script_put_trace(struct script *script, const struct script_event *event,
		     const struct perch_record *record);
/* Sets script->records. Returns true if an option asks for a type of records. */
bool script_choose_records(struct script *script);
/* Returns 0 or -ENOMEM. */
int script_put_json(struct script *script, const struct perch_session_sample *sample);

#endif
