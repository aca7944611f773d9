/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Why the kernel refuses a perf_event_open(2), or an mmap, ioctl or read of an event.
 *
 * An explanation has the cause, the fields at fault, the kernel release that has the feature, a
 * message, a remedy, and what would fail next. It comes from three sources, in this order: rules in
 * the order of the kernel's checks, which need no system call; facts of the machine, read when a
 * rule needs them and cached; and, if the caller allows it, probing: a few open calls that differ
 * from the failed one.
 *
 * A machine of NULL is this machine, as seen by the calling process: its facts are read from /proc
 * and /sys for one explanation. Pass a machine to keep the facts for the next explanation. The
 * facts of a log (from_log) with a machine of NULL are unknown: only rules that need no fact then
 * explain.
 *
 * Errors: perch_explain() and perch_explanation_error() fill err with the explanation. The other
 * functions need no err: they fail only if an argument is invalid, with -EINVAL.
 *
 * Threads: one thread per machine at a time; any number with a machine of NULL.
 *
 * Fork: the functions keep no state except in the machine, see perch/machine.h.
 *
 * Signals: nothing here is async-signal-safe.
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

/** The event that group_fd refers to. With it, the rules of groups are certain without probing. */
struct perch_open_call_leader {
	const struct perch_attr *attr; /**< attr->size bytes are readable (64 if size is 0) */
	pid_t pid;		       /**< as passed when it was opened */
	int cpu;		       /**< as passed when it was opened */
	unsigned long flags;	       /**< PERCH_FLAG_*, as passed when it was opened */
	bool is_member;		       /**< it is a member of a group, not a leader */
	bool has_ring;		       /**< its ring is mapped, or its output goes into one */
	size_t members;		       /**< events in its group so far, including the leader */
	uint64_t reserved[4];	       /**< must be 0 */
};

/** A failed perf_event_open(2) as it was called, by this or another program. */
struct perch_open_call {
	/**
	 * The attr as passed; NULL if the pointer was NULL or not readable.
	 *
	 * attr->size bytes are read, at least 8 (64 if size is 0 or above 4096). After E2BIG
	 * without kernel_size, size may be the kernel's, and sizeof(struct perch_attr) bytes are
	 * read: set kernel_size for a shorter attr.
	 */
	const struct perch_attr *attr;
	pid_t pid;	       /**< as passed */
	int cpu;	       /**< as passed */
	int group_fd;	       /**< as passed */
	unsigned long flags;   /**< PERCH_FLAG_*, as passed */
	int errnum;	       /**< the errno it failed with, positive */
	bool pid_is_cgroup_fd; /**< the caller passed pid as cgroup_fd: messages name it so */
	/** The open call is that of a log: what config1 points to is unknown, and a machine of NULL
	 * is an unknown machine. */
	bool from_log;
	bool attr_is_partial; /**< fields may be missing (a log): 0 does not mean that one is 0, see
				 attr_shown_size */
	uint32_t
		kernel_size; /**< attr.size as the kernel wrote it after E2BIG; 0: see attr->size */
	const struct perch_open_call_leader *leader; /**< NULL: unknown, or there is no group */
	/** Seccomp filters of the process that a tracer installed and that refuse nothing: they are
	 * not the cause. */
	unsigned tracer_filters;
	/** Seccomp filters that the program was seen to install itself, and that may refuse the
	 * call: the remedy is about these, and not about a container. */
	unsigned own_filters;
	/** With attr_is_partial: no field in the first bytes of the attr is missing, so that 0
	 * means that one is 0 there. 0: any field may be missing. */
	uint64_t attr_shown_size;
	uint64_t reserved[7]; /**< must be 0 */
};

/**
 * Explains a failed open call as an error.
 *
 * Probes if the machine allows it (perch_machine_set_probing()). If several causes are possible,
 * err has the first one and its message names the others.
 *
 * @param call     the failed open call
 * @param machine  facts of the machine; NULL is this machine
 * @param[out] err  the explanation; NULL is allowed
 * @return -call->errnum
 * @retval -EINVAL  call is NULL or has no errno
 */
PERCH_API int perch_explain(const struct perch_open_call *call, struct perch_machine *machine,
			    struct perch_error *err);

/** How certain the first finding of an explanation is. */
enum perch_confidence {
	PERCH_CONFIDENCE_CERTAIN,   /**< no other cause is possible, or probing has proved it */
	PERCH_CONFIDENCE_LIKELY,    /**< facts support it; other causes are possible */
	PERCH_CONFIDENCE_AMBIGUOUS, /**< several causes are possible, likeliest first */
};

/** Returns "certain", "likely" or "ambiguous". */
PERCH_API const char *perch_confidence_name(enum perch_confidence confidence);

/** One cause in an explanation, or one finding of perch_lint(). */
struct perch_finding {
	enum perch_cause cause;	    /**< the exact cause */
	enum perch_error_kind kind; /**< the kind of the cause */
	size_t nr_fields;	    /**< elements of field in use */
	/**
	 * The fields at fault, static strings: names of struct perf_event_attr, or pid, cpu,
	 * group_fd, flags, attr. For an operation also address, length, protection, offset, fd,
	 * request, argument, size.
	 */
	const char *field[4];
	char since[8];	   /**< first kernel release with the feature ("6.13"); "" if irrelevant */
	char message[512]; /**< what failed and why, one sentence without a period */
	char remedy[384];  /**< what to do, an imperative; "" if there is nothing to do */
	uint64_t reserved[4]; /**< for members of later versions */
};

#define PERCH_FINDINGS_MAX 6 /**< most findings of an explanation */
#define PERCH_NEXT_MAX	   4 /**< most follow-ups of an explanation */

/** The explanation of a failed system call. It has about 10 KiB. */
struct perch_explanation {
	int errnum;			  /**< the errno that is explained */
	enum perch_confidence confidence; /**< of finding[0] */
	size_t nr_findings;		  /**< at least 1; above 1 only if ambiguous */
	struct perch_finding finding[PERCH_FINDINGS_MAX]; /**< possible causes, likeliest first */
	size_t nr_next;					  /**< elements of next in use */
	struct perch_finding
		next[PERCH_NEXT_MAX]; /**< what would fail after the remedy, in order */
	unsigned open_calls;	      /**< open calls made by probing */
	bool out_of_budget;   /**< probing reached its limits: the result may be less certain */
	bool succeeds_now;    /**< the same open call succeeds now: the cause was temporary */
	uint64_t reserved[8]; /**< for members of later versions */
};

/**
 * The limits of probing. 0 is the default of each.
 *
 * Probing repeats the failed open call with changes. Each event is disabled and closed at once. It
 * creates no kprobe, uprobe, trace unit or AUX event, and opens only the calling thread and the
 * target of the failed open call.
 */
struct perch_probing {
	unsigned open_calls;   /**< most open calls; 0: 25 */
	unsigned microseconds; /**< no open call starts after this time; 0: 5000 */
	uint64_t reserved[2];  /**< must be 0 */
};

/**
 * Explains a failed open call. The strings of the explanation are complete sentences or lists of
 * names, ready to print; examples/explain-call.c prints all of them.
 *
 * @param call          the failed open call
 * @param probing       limits of probing; NULL: no probing
 * @param machine       facts of the machine, and the system calls of probing; NULL is this machine
 * @param[out] explanation  filled on success
 * @return 0, or a negative errno
 * @retval -EINVAL      call is NULL or has no errno, or explanation is NULL: needs no err
 */
PERCH_API int perch_explain_open_call(const struct perch_open_call *call,
				      const struct perch_probing *probing,
				      struct perch_machine *machine,
				      struct perch_explanation *explanation);

/** The system calls on an event that perch_explain_operation() explains. */
enum perch_operation_kind {
	PERCH_OPERATION_MMAP,	/**< mmap(2) */
	PERCH_OPERATION_IOCTL,	/**< ioctl(2) */
	PERCH_OPERATION_READ,	/**< read(2); errnum 0: it returned 0 bytes (end of file) */
	PERCH_OPERATION_MUNMAP, /**< munmap(2) or mremap(2) of a part of a ring's mapping */
	/** readv(2): as READ, and size is that of the first buffer that is not empty */
	PERCH_OPERATION_READV,
};

/** A failed system call on an event. Members without a meaning for its kind are 0, -1 for fds. */
struct perch_operation {
	enum perch_operation_kind kind; /**< which system call */
	int errnum;			/**< the errno it failed with, positive */
	const struct perch_attr *attr;	/**< the event's attr; NULL: unknown */
	pid_t pid;			/**< of the event, if attr is known */
	int cpu;			/**< of the event, if attr is known */
	unsigned long flags;		/**< of the event, if attr is known */
	size_t group_size;		/**< events in its group, including it; 0: unknown */
	size_t ring_size;		/**< bytes of its mapped ring; 0: none, or unknown */
	size_t length;			/**< mmap, munmap: bytes */
	int protection;			/**< mmap: PROT_* */
	/** mmap: MAP_*; with MAP_ANONYMOUS the mapping is not one of the event */
	int map_flags;
	uint64_t offset;	/**< mmap: bytes; munmap: start within the ring's mapping */
	unsigned long request;	/**< ioctl: PERCH_IOC_* */
	unsigned long argument; /**< ioctl: as passed */
	uint64_t period;	/**< PERIOD: the new value, if period_known */
	bool period_known;	/**< PERIOD: .period is set */
	const char *filter;	/**< SET_FILTER: the filter; NULL: unknown */
	int other_fd;		/**< SET_OUTPUT: the descriptor passed */
	int fd;			/**< the descriptor as passed; 0: unknown */
	const struct perch_open_call_leader
		*other;	      /**< SET_OUTPUT: the event of other_fd, or NULL */
	size_t size;	      /**< read: bytes of the buffer */
	bool from_log;	      /**< of a log: a machine of NULL is an unknown machine */
	uint64_t address;     /**< mmap: the address passed, if address_known */
	bool address_known;   /**< mmap: .address is set; needed to explain MAP_FIXED */
	uint64_t reserved[6]; /**< must be 0 */
};

/**
 * Explains a failed mmap, ioctl, read or munmap of an event. Does not probe.
 *
 * @param operation     the failed system call
 * @param machine       facts of the machine; NULL is this machine
 * @param[out] explanation  filled on success
 * @return 0, or a negative errno
 * @retval -EINVAL      operation is NULL or has no errno, or explanation is NULL: needs no err
 */
PERCH_API int perch_explain_operation(const struct perch_operation *operation,
				      struct perch_machine *machine,
				      struct perch_explanation *explanation);

/**
 * Converts an explanation to an error.
 *
 * The error has the first finding; its message also names the other findings, and its next text
 * the follow-ups.
 *
 * @param explanation  the explanation
 * @param[out] err     the error; NULL is allowed
 * @return -explanation->errnum
 */
PERCH_API int perch_explanation_error(const struct perch_explanation *explanation,
				      struct perch_error *err);

/**
 * Finds settings that the kernel accepts, but that have no effect or an unintended one.
 *
 * That breakpoints never fire on a machine is found if the machine has found that or may probe, see
 * perch_machine_breakpoints_fire().
 *
 * @param call           the open call; errnum is not used, and attr points to a whole struct
 *                       perch_attr whatever attr->size is, so that fields beyond size are found
 * @param machine        facts of the machine; NULL is this machine
 * @param[out] findings  the findings, with causes PERCH_CAUSE_LINT_*
 * @param max            elements of findings
 * @return how many findings there are, which may be more than max; 0 if call or its attr is NULL.
 *         Needs no err, because it cannot fail.
 */
PERCH_API size_t perch_lint(const struct perch_open_call *call, struct perch_machine *machine,
			    struct perch_finding *findings, size_t max);

#ifdef __cplusplus
}
#endif
#endif
