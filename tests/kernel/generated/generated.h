/* SPDX-License-Identifier: MIT */
/*
 * Calls of perf_event_open(2) made at random that the kernel accepts, broken in one place or in
 * two, and what perch says of them. Every case has a seed of its own, from which all of it follows.
 */
#ifndef PERCH_GENERATED_H
#define PERCH_GENERATED_H

#include <perch/explain.h>

#include "build/build.h"

#define GENERATED_BYTES 8192 /* more than any attr.size that the kernel reads */
#define GENERATED_FDS	8
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* What stands ready for calls to name: made once, kept open while the cases run. */
struct world {
	/* root with its capabilities; else an ordinary user without any */
	bool privileged;
	struct perch_machine *machine; /* its calls are counted and checked */
	pid_t self, child, kthread;    /* targets that may be measured; kthread 0: none */
	pid_t stranger, undumpable;    /* targets that may not, as an ordinary user; 0: none */
	pid_t gone, zombie;
	int cpu[64];
	size_t nr_cpus;
	int first_absent_cpu;
	uint32_t uprobe_type, msr_type; /* 0: the machine has none */
	uint64_t tracepoint[8];		/* ids; those of system calls first */
	/* the open ones give ordinary users their raw data */
	size_t nr_tracepoints, nr_open_tracepoints;
	int cgroup[2];		   /* two cgroup directories; -1: none */
	int directory_fd, null_fd; /* of no use to the kernel */
	/* of a group that another member makes too big to read; -1 */
	int full_leader;
	uint64_t max_rate, max_stack;
	uint32_t kernel_size;
	char program[4096];	 /* this very program */
	uint64_t program_offset; /* of a function in it */
	uint64_t code, data;	 /* addresses to watch, aligned to 64 bytes */
};
/* What ordinary users cannot make is made by root: world_become() then turns this process into one
 * of theirs. */
int world_make(struct world *world);
int world_become(struct world *world);
void world_end(struct world *world);

/* Calls made through world->machine: how many since the last time, and whether one did what probing
 * must never do. */
unsigned world_calls(bool reset);
const char *world_misconduct(void);

/* What a call measures. */
enum subject {
	SUBJECT_SOFTWARE,
	SUBJECT_TRACEPOINT,
	SUBJECT_BREAKPOINT,
	SUBJECT_UPROBE,
	SUBJECT_MSR,
	SUBJECT_MAX
};

/* What a breakage wants the call to be. */
enum wish {
	WISH_SOFTWARE = 1 << SUBJECT_SOFTWARE,
	WISH_TRACEPOINT = 1 << SUBJECT_TRACEPOINT,
	WISH_BREAKPOINT = 1 << SUBJECT_BREAKPOINT,
	WISH_UPROBE = 1 << SUBJECT_UPROBE,
	WISH_MSR = 1 << SUBJECT_MSR,
	WISH_SUBJECTS = (1 << SUBJECT_MAX) - 1,
	WISH_MEMBER = 1 << 8, /* of a group */
	WISH_ALONE = 1 << 9,  /* of none */
	WISH_CGROUP = 1 << 10,
	WISH_TASK = 1 << 11,  /* a thread on any CPU */
	WISH_CPU = 1 << 12,   /* every process of one CPU */
	WISH_PLAIN = 1 << 13, /* no decorations */
};

struct generated_call {
	union {
		struct perch_attr attr;
		unsigned char bytes[GENERATED_BYTES];
	};
	/* what the kernel gets: bytes, unless that is what is broken */
	const void *pointer;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	enum subject subject;
	struct perch_attr leader_attr;
	struct perch_open_call_leader leader;
	bool has_leader;
	bool leader_given;     /* passed to perch */
	int fd[GENERATED_FDS]; /* to be closed after the case */
	size_t nr_fds;
	void *ring;	      /* of the leader; to be unmapped */
	bool few_descriptors; /* RLIMIT_NOFILE is to be put back */
};

/* One call after the other until the kernel accepts one. False: none of many did. */
bool generated_valid(const struct world *world, struct build_rng *rng, unsigned wish,
		     struct generated_call *call);
/* The descriptor, which the caller closes, or a negative errno; the size that the kernel wrote
 * back, if it did. */
int generated_open(const struct generated_call *call, uint32_t *kernel_size);
/* Whether the kernel refuses it; the errno. */
int generated_refused(const struct generated_call *call, uint32_t *kernel_size);
/* Leaves a descriptor to generated_end(). */
void generated_keep(struct generated_call *call, int fd);
void generated_end(struct generated_call *call);
/* Fills in the open call for perch to explain. */
void generated_describe(struct generated_call *call, int errnum, uint32_t kernel_size,
			struct perch_open_call *asked);
void generated_print(const struct generated_call *call, int errnum);

#define FOR_ROOT 1
#define FOR_USER 2
#define FOR_ALL	 (FOR_ROOT | FOR_USER)

/* One way to break a call. */
struct breakage {
	const char *name;
	const char *fields;	/* by comma: naming one of these is right */
	enum perch_cause cause; /* what to name when no field is at fault; else NONE: any */
	unsigned users;		/* FOR_*; 0: for all */
	unsigned wish;		/* of the calls it is for */
	unsigned weight;	/* how often, in percent of the others; 0: as often */
	bool alone;		/* not with a second fault: it leaves none to be seen */
	/* the attr shows it by itself: no fact is needed, whoever asks for what */
	bool is_static;
	/* attr.size is its own matter; else it is made to hold what was changed */
	bool sizes;
	/* false: this call cannot be broken so */
	bool (*change)(const struct world *world, struct build_rng *rng,
		       struct generated_call *call);
};

struct breakages {
	const struct breakage *breakage;
	size_t nr;
};
/* Of the attr, of the event's kind, and of whom and with whom. */
extern const struct breakages attr_breakages, sample_breakages, event_breakages, target_breakages,
	group_breakages;

/* Every breakage that this user can meet. */
#define BREAKAGES_MAX 160
size_t breakages_for(const struct world *world, const struct breakage *list[BREAKAGES_MAX]);
/* One of them, by their weights. */
size_t breakage_pick(const struct breakage *const *list, size_t nr, struct build_rng *rng);
/* Breaks the call. False: this call cannot be broken so. */
bool breakage_apply(const struct breakage *breakage, const struct world *world,
		    struct build_rng *rng, struct generated_call *call);

/* The quality of an explanation. */
enum result {
	RESULT_RIGHT,	  /* named, and not as one of several */
	RESULT_AMBIGUOUS, /* named among several */
	RESULT_WRONG,
	RESULT_MAX
};
bool finding_names(const struct perch_finding *finding, const struct breakage *breakage);
enum result evaluate_explanation(const struct perch_explanation *explanation,
				 const struct breakage *breakage);

#endif
