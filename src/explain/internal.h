/* SPDX-License-Identifier: MIT */
/*
 * Explains a refused open call (attr, pid, cpu, group, flags, errno), and refused operations on an
 * event. There are three sources, in this order. Rules are a table in the order of the kernel's
 * checks: a row has errno, fields, condition, message, remedy and the fix that the remedy makes in
 * the open call. Facts are read when a condition needs them; a condition matches, does not match
 * or is unknown. Probing, if the caller allows it, repeats the open call with a fix or with parts
 * removed when several causes are left; every call is harmless and counted. What fails next is
 * found by evaluating the rules on the fixed open call. man/causes.c generates perch-causes(7)
 * from all tables. A file calls only files below its own:
 *
 *	explain.c			the case of an open call
 *	probing/probe.c			open calls that find the cause, and the follow-ups
 *	  probing/probe_features.c	  which newer features the kernel has
 *	  probing/probe_fix.c		  applies the fixes of rules
 *	  probing/probe_parts.c		  removes parts of the open call
 *	  probing/attr_subsets.c	  splits an attr into subsets
 *	  probing/probe_call.c		  one harmless open call
 *	message.c			messages and remedies of a result
 *	evaluate.c			which rules match, and which after the first is fixed
 *	lint.c				accepted attrs without effect (lint.def)
 *	  lint_facts.c			  their facts and placeholders
 *	operation/operation.c		refused mmap, ioctl, read and munmap
 *	  operation/operation_placeholders.c  values of {placeholders}
 *	  operation/operation_rules.c	  the rules: mmap.def, ioctl.def, read.def
 *	  operation/filter.c		  what the kernel refuses in a filter
 *	  operation/mapping_facts.c	  facts for mmap(2)
 *	  operation/operation_facts.c	  facts for the other operations
 *	rules/rules.c			the rules of open calls: rules.def and those it includes,
 *					with the conditions of predicates.h
 *	rules/placeholders.c		values of {placeholders} (placeholders.def)
 *	  rules/placeholder_lists.c	  lists of limited length
 *	facts_files.c			facts from single files
 *	facts_pmu.c			facts of the PMU
 *	facts_cgroup.c			what messages say about cgroups
 *	facts.c				facts of the machine and its processes
 *	features.c			fields and bits that are newer than the kernel
 *	finding.c			findings from table rows
 *	this_machine.c			the machine, if the caller passes none
 */
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
