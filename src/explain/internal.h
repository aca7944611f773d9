/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EXPLAIN_INTERNAL_H
#define PERCH_EXPLAIN_INTERNAL_H

#include <stdbool.h>
#include <perch/explain.h>

/*
 * Whether a rule matches. UNKNOWN: a fact is missing, or the condition is not proof. perch__and()
 * and perch__or() need this order of values.
 */
enum perch__match {
	PERCH__NO,
	PERCH__UNKNOWN,
	PERCH__YES,
};

/* What config1 of a uprobe points to. */
enum perch__path {
	PERCH__PATH_NOT_READ,
	PERCH__PATH_UNKNOWN,
	PERCH__PATH_EMPTY,
	PERCH__PATH_NOT_REGULAR, /* a directory, a device, a pipe */
	PERCH__PATH_SHORT,	 /* the offset is beyond the end */
	PERCH__PATH_OK,
};

/* What is found once for all copies of a case. */
struct perch__shared {
	enum perch__path path; /* the result of perch__path_is() */
	/* the result of perch__tracepoint_absent() for this id; 0: for none */
	uint64_t tracepoint;
	enum perch__match no_tracepoint;
	/* the fields and bits of the open call of which probing has shown that the kernel lacks
	 * them, or has them */
	struct perch_attr missing, present;
};

/*
 * An open call as the kernel saw it, and the facts. Fixes of rules change the copies here.
 */
struct perch__case {
	const struct perch_open_call *call;
	/* zero beyond its size; all zero if the pointer was NULL */
	struct perch_attr attr;
	/* as passed; if unknown, as the kernel wrote it */
	uint32_t size;
	uint32_t kernel_size; /* as the kernel wrote it after E2BIG; 0: unknown */
	/* offset of the first nonzero byte beyond struct perch_attr; 0: none */
	uint32_t unknown_at;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	/* 0: accepted or unknown: rules have only the call and the facts */
	int errnum;
	/* probing has shown that open calls reach perf */
	bool reached_perf;
	struct perch_machine *machine; /* NULL: facts are unknown */
	struct perch__shared *shared;  /* NULL: nothing is kept */
};

/*
 * Returns the machine whose facts explain: the caller's, or one of this machine, which is made here
 * and lasts for one explanation. A log may be of another machine: NULL, no fact is known. The
 * caller frees *own.
 */
struct perch_machine *perch__machine_of(struct perch_machine *machine, bool from_log,
					struct perch_machine **own);

/* perch_release_rank() of the running kernel; 0 if unknown. */
unsigned perch__running_rank(const struct perch__case *c);

/*
 * Where the kernel refuses what it does not know, in the order of its checks: bits of the flags
 * argument, bytes beyond its struct perf_event_attr (E2BIG), reserved bits of the attr, and the
 * bits of three fields.
 */
enum perch__stage {
	PERCH__STAGE_FLAGS,
	PERCH__STAGE_SIZE,
	PERCH__STAGE_RESERVED,
	PERCH__STAGE_SAMPLE_TYPE,
	PERCH__STAGE_READ_FORMAT,
	PERCH__STAGE_BRANCHES,
	PERCH__STAGES
};

/* A field or bit of an open call that the kernel lacks, or may lack: its release is newer. */
struct perch__newer {
	const char *name;		      /* of the field, bit or flag */
	const char *since;		      /* "": bytes of no known field */
	const struct perch_attr_field *field; /* NULL: the flags argument */
	uint64_t mask;			      /* of the field's value */
	bool is_bit;			      /* name is that of a bit */
	enum perch__stage stage;
	enum perch__match lacking; /* YES: shown; UNKNOWN: by the release only */
};

#define PERCH__NEWER_MAX 12

/* Newest first; after E2BIG, in the order of the attr. */
struct perch__newer_list {
	size_t nr;
	struct perch__newer feature[PERCH__NEWER_MAX];
};

/* Finds all features of the open call that the kernel lacks or may lack. */
void perch__find_newer(const struct perch__case *c, struct perch__newer_list *list);
void perch__newer_of_stage(const struct perch__case *c, enum perch__stage stage,
			   struct perch__newer_list *list);
/* True after E2BIG if a field is set beyond the size that the kernel wrote. Finds these fields. */
bool perch__exceeds_kernel_size(const struct perch__case *c, struct perch__newer_list *list);
/* UNKNOWN if the release is older than the field and probing has not shown it; otherwise NO. */
enum perch__match perch__may_lack_field(const struct perch__case *c, const char *name);
/* Clears the features in the open call. */
void perch__drop_newer(struct perch__case *c, const struct perch__newer_list *list);

/* A field of an attr. */
struct perch__feature {
	char name[32];
	char since[8];
};
/* Finds the first nonzero attr field at or beyond an offset. */
bool perch__field_beyond(const struct perch_attr *attr, size_t offset,
			 struct perch__feature *feature);

/* Writes the value of a placeholder of the rules. Returns false if there is no such placeholder. */
bool perch__placeholder(const struct perch__case *c, const char *name, size_t length, char *buffer,
			size_t size);

/* True if a log shows all fields in the first bytes of the attr, up to the end. */
static inline bool perch__shows_up_to(const struct perch_open_call *call, size_t end)
{
	return !call->attr_is_partial || call->attr_shown_size >= end;
}

#endif
