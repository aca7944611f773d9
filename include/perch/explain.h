/* SPDX-License-Identifier: MIT */
/*
 * Why the kernel refused: a call of perf_event_open(2), or an mmap, ioctl or read of what it gave
 * -> cause, fields at fault, release, one sentence, one remedy, and what would fail next.
 *
 * Three sources, in this order: rules in the order of the kernel's own checks, which cost no system
 * call; facts of the machine, read when a rule asks for one and kept (of a target for a moment);
 * and, where the caller allows it, a handful of calls like the one that failed with a part taken
 * away. Nothing here is async-signal-safe; two threads may explain at the same time, each with a
 * machine of its own.
 */
#ifndef PERCH_EXPLAIN_H
#define PERCH_EXPLAIN_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of the event that group_fd is: with it the rules of groups are certain, without it
 * they are probed for. */
struct perch_open_call_leader {
	const struct perch_attr *attr; /* at least attr->size bytes readable (64 when size is 0) */
	pid_t pid;		       /* as it was opened */
	int cpu;
	unsigned long flags;
	bool is_member; /* it was itself opened into a group, and leads none */
	bool has_ring;	/* its ring is mapped, or its output goes into one */
	size_t members; /* events of its group so far, with the leader */
};

/* The raw call, as it was made, so that any program's call can be explained. Not said: zero. */
struct perch_open_call {
	/*
	 * as passed: attr->size bytes are read, and 8 in any case (64 when size is 0 or above
	 * 4096); after E2BIG without kernel_size size may be the kernel's, and a whole struct
	 * perch_attr is read: give kernel_size for attrs that are not that long. NULL: the pointer
	 * was NULL, or nobody could read there
	 */
	const struct perch_attr *attr;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	int errnum; /* the positive errno it failed with */
	/* pid is perch_target.cgroup_fd, and called so in what is told */
	bool pid_is_cgroup_fd;
	/* the caller's memory is gone: what config1 of a probe points to is unknown */
	bool from_log;
	/* some fields are unknown (a log): nothing can be proven by their being zero */
	bool attr_is_partial;
	/* attr.size as the kernel wrote it back after E2BIG; 0: attr->size has it already */
	uint32_t kernel_size;
	/* NULL: nothing is known of it, or there is none */
	const struct perch_open_call_leader *leader;
};

/*
 * Fills err: rules, and the facts of the machine (NULL: rules that need no fact only). Probes when
 * the machine allows it (perch_machine_set_probing()). When several causes are possible, err has
 * the first and names the others. Returns -call->errnum.
 */
PERCH_API int perch_explain(const struct perch_open_call *call, struct perch_machine *machine,
			    struct perch_error *err);

enum perch_confidence {
	PERCH_CONFIDENCE_CERTAIN, /* a rule leaves no other cause, or a probe proved it */
	PERCH_CONFIDENCE_LIKELY,  /* facts point at it; other causes are possible */
	/* several causes fit: all are told, the first is the likeliest */
	PERCH_CONFIDENCE_AMBIGUOUS,
};
/* "certain", "likely", "ambiguous" */
PERCH_API const char *perch_confidence_name(enum perch_confidence confidence);

/* One cause, told. */
struct perch_finding {
	enum perch_cause cause;
	enum perch_error_kind kind;
	size_t nr_fields;
	/*
	 * names of struct perf_event_attr, or pid, cpu, group_fd, flags; static strings. For an
	 * operation also: length, protection, offset, fd, request, argument, size
	 */
	const char *field[4];
	/* first kernel release that has what was asked, as "6.13"; "" when it does not matter */
	char since[8];
	char message[512]; /* what failed and why: one sentence */
	char remedy[384];  /* what to do: one sentence */
};

#define PERCH_FINDINGS_MAX 6
#define PERCH_NEXT_MAX	   4

/* Some 10 KiB: for one thread's stack, not for a coroutine's. */
struct perch_explanation {
	int errnum;
	enum perch_confidence confidence;
	size_t nr_findings; /* at least 1; more only when the confidence is ambiguous */
	struct perch_finding finding[PERCH_FINDINGS_MAX]; /* [0] is the answer */
	size_t nr_next;
	/* what would fail once that is mended, in order */
	struct perch_finding next[PERCH_NEXT_MAX];
	unsigned open_calls; /* probing calls made */
	/* probing ended for want of calls or time: the answer may be less certain */
	bool out_of_budget;
	/* the same call was let through when it was made again: the cause was transient */
	bool succeeds_now;
};

/*
 * What probing may cost. The calls made are the failed one with parts taken away or made harmless:
 * disabled, closed at once, never a probe or a trace unit that could come to life, never an AUX
 * event, and for no thread but the caller's and those that the failed call named itself. Zero: the
 * default.
 */
struct perch_probing {
	unsigned open_calls;   /* at most so many; 25 */
	unsigned microseconds; /* none is begun after; 5000 */
};

/* The whole answer. probing NULL: no calls. machine NULL: neither facts nor calls. 0, or -EINVAL
 * without a failed call. */
PERCH_API int perch_explain_open_call(const struct perch_open_call *call,
				      struct perch_machine *machine,
				      const struct perch_probing *probing,
				      struct perch_explanation *explanation);

enum perch_operation_kind {
	PERCH_OPERATION_MMAP,  /* mmap(2) */
	PERCH_OPERATION_IOCTL, /* ioctl(2) */
	/* read(2); errnum 0 means that it gave no byte: end of file */
	PERCH_OPERATION_READ,
	/* munmap(2), mremap(2): length from offset on, of a mapping of ring_size */
	PERCH_OPERATION_MUNMAP,
};

/* What was done to an event's descriptor, as it was done. Not said: zero, -1 for descriptors. */
struct perch_operation {
	enum perch_operation_kind kind;
	int errnum;
	const struct perch_attr *attr; /* the event's; NULL: unknown */
	pid_t pid;		       /* whom it was opened for, where attr is known */
	int cpu;
	unsigned long flags;
	size_t group_size; /* events in its group, with it; 0: unknown */
	/* bytes of its ring as mapped already; 0: none, or unknown */
	size_t ring_size;
	/* mmap */
	size_t length;
	int protection;	 /* PROT_* */
	int map_flags;	 /* MAP_* */
	uint64_t offset; /* bytes */
	/* ioctl */
	unsigned long request;
	unsigned long argument;
	uint64_t period; /* what PERIOD's argument points to, where period_known */
	bool period_known;
	const char *filter; /* SET_FILTER's text; NULL: unknown */
	int other_fd;	    /* SET_OUTPUT's */
	int fd;		    /* the event's own, to compare with that; 0: unknown */
	/* what is known of that event; NULL: nothing */
	const struct perch_open_call_leader *other;
	/* read */
	size_t size; /* of the buffer */
};

/* Makes no system call beside reading facts. 0, or -EINVAL without a failed operation. */
PERCH_API int perch_explain_operation(const struct perch_operation *operation,
				      struct perch_machine *machine,
				      struct perch_explanation *explanation);

/* The answer as an error: finding[0], the other candidates and what comes next in words. Returns
 * -explanation->errnum. */
PERCH_API int perch_explanation_error(const struct perch_explanation *explanation,
				      struct perch_error *err);

/*
 * What the kernel accepts without a word and cannot have been meant: fills at most max findings
 * (cause PERCH_CAUSE_LINT_*) and returns how many there are. call->errnum is not looked at. machine
 * NULL: what needs no fact. call->attr is a whole struct perch_attr here, whatever its size says:
 * that fields behind size are set and ignored is a finding.
 */
PERCH_API size_t perch_lint(const struct perch_open_call *call, struct perch_machine *machine,
			    struct perch_finding *findings, size_t max);

#ifdef __cplusplus
}
#endif
#endif
