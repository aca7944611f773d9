/* SPDX-License-Identifier: MIT */
/*
 * Random open calls that the kernel accepts, broken in one place or two, and the explanations of
 * perch. Each case has its own seed, from which all of it follows.
 */
#ifndef PERCH_GENERATED_H
#define PERCH_GENERATED_H

#include <perch/explain.h>

#include "build/build.h"

#define GENERATED_BYTES 8192 /* more than any attr.size that the kernel reads */
#define GENERATED_FDS	8
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* Targets and objects that open calls use: made once and open while the cases run. */
struct world {
	/* root with all capabilities, or an unprivileged user */
	bool privileged;
	struct perch_machine *machine; /* its system calls are counted and checked */
	pid_t self, child, kthread;    /* targets that may be measured; kthread 0: none */
	pid_t foreign, undumpable; /* targets that an unprivileged user may not measure; 0: none */
	pid_t gone, zombie;
	int cpu[64];
	size_t nr_cpus;
	int first_absent_cpu;
	uint32_t uprobe_type, msr_type; /* 0: the machine has none */
	uint64_t tracepoint[8];		/* ids; system calls first */
	/* unprivileged users may sample raw data of the first ones */
	size_t nr_tracepoints, nr_open_tracepoints;
	int cgroup[2];		   /* two cgroup directories; -1: none */
	int directory_fd, null_fd; /* of no use to the kernel */
	/* leader of a group with the largest read size; -1: none */
	int full_leader;
	uint64_t max_rate, max_stack;
	uint32_t kernel_size;
	char program[4096];	 /* this very program */
	uint64_t program_offset; /* of a function in it */
	uint64_t code, data;	 /* addresses to watch, aligned to 64 bytes */
};
/* Root makes what unprivileged users cannot make. world_become() then makes this process
 * unprivileged. */
int world_make(struct world *world);
int world_become(struct world *world);
void world_end(struct world *world);

/* System calls made through world->machine since the last time, and whether one did what probing
 * must not do. */
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

/* Properties of the open call that a breakage needs. */
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
	/* what is passed to the kernel: bytes, unless that is broken */
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
	void *ring;	      /* ring of the leader, to be unmapped */
	bool few_descriptors; /* RLIMIT_NOFILE must be restored */
};

/* Makes open calls until the kernel accepts one. Returns false if it accepts none of many. */
bool generated_valid(const struct world *world, struct build_rng *rng, unsigned wish,
		     struct generated_call *call);
/* Returns the descriptor, which the caller closes, or a negative errno; and the size that the
 * kernel wrote. */
int generated_open(const struct generated_call *call, uint32_t *kernel_size);
/* Returns the errno, 0 if the kernel accepts it. */
int generated_refused(const struct generated_call *call, uint32_t *kernel_size);
/* generated_end() closes the descriptor. */
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
	const char *fields;	/* separated by commas: any one of these is correct */
	enum perch_cause cause; /* the cause if no field is at fault; otherwise NONE: any cause */
	unsigned users;		/* FOR_*; 0: for all */
	unsigned wish;		/* of the calls it is for */
	unsigned weight;	/* frequency in percent of the others; 0: 100 */
	bool alone;		/* cannot be combined with a second fault */
	/* the attr alone shows it: no fact is needed */
	bool is_static;
	/* sets attr.size itself; otherwise attr.size is raised to include the change */
	bool sizes;
	/* returns false if it cannot break this open call */
	bool (*change)(const struct world *world, struct build_rng *rng,
		       struct generated_call *call);
};

struct breakages {
	const struct breakage *breakage;
	size_t nr;
};
/* Breakages of the attr, the event, and its target and group. */
extern const struct breakages attr_breakages, sample_breakages, event_breakages, target_breakages,
	group_breakages;

/* All breakages that can happen to this user. */
#define BREAKAGES_MAX 160
size_t breakages_for(const struct world *world, const struct breakage *list[BREAKAGES_MAX]);
/* Chooses one of them by weight. */
size_t breakage_pick(const struct breakage *const *list, size_t nr, struct build_rng *rng);
/* Breaks the open call. Returns false if that is impossible. */
bool breakage_apply(const struct breakage *breakage, const struct world *world,
		    struct build_rng *rng, struct generated_call *call);

/* The quality of an explanation. */
enum result {
	RESULT_RIGHT,	  /* it has the only finding */
	RESULT_AMBIGUOUS, /* named among several */
	RESULT_WRONG,
	RESULT_MAX
};
bool finding_names(const struct perch_finding *finding, const struct breakage *breakage);
enum result evaluate_explanation(const struct perch_explanation *explanation,
				 const struct breakage *breakage);

#endif
