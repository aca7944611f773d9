/* SPDX-License-Identifier: MIT */
/*
 * Random open calls that the kernel accepts, mutations that make them invalid, and the explanations
 * of perch. The seed of a case determines the whole case.
 */
#ifndef PERCH_GENERATED_H
#define PERCH_GENERATED_H

#include <perch/explain.h>

#include "build/build.h"

#define GENERATED_BYTES 8192 /* more than any attr.size that the kernel reads */
#define GENERATED_FDS	8
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

/* Fields that some of the supported kernels lack. */
enum feature {
	FEATURE_REMOVE_ON_EXEC = 1 << 0,
	FEATURE_SIGTRAP = 1 << 1,
	FEATURE_INHERIT_THREAD = 1 << 2,
	FEATURE_AUX_ACTION = 1 << 3,
	FEATURE_WEIGHT_STRUCT = 1 << 4,
};

/*
 * Targets and objects that open calls use. They are created once and stay open while the cases run.
 */
struct environment {
	/* true for root with all capabilities, false for an unprivileged user */
	bool privileged;
	struct perch_machine *machine; /* its system calls are counted and checked */
	pid_t self, child, kthread;    /* targets that may be measured; kthread 0: none */
	pid_t foreign,
		not_dumpable; /* targets that an unprivileged user may not measure; 0: none */
	pid_t gone, zombie;
	int cpu[64];
	size_t nr_cpus;
	int first_absent_cpu;
	uint32_t uprobe_type, msr_type; /* 0: the machine has none */
	uint64_t tracepoint[8];		/* ids; system calls first */
	/* nr_open_tracepoints: unprivileged users may sample raw data of the first ones */
	size_t nr_tracepoints, nr_open_tracepoints;
	int cgroup[2];		   /* two cgroup directories; -1: none */
	int directory_fd, null_fd; /* descriptors that the kernel refuses as cgroups */
	/* leader of a group with the largest read size; -1: none */
	int full_leader;
	uint64_t max_rate, max_stack;
	uint32_t kernel_size;
	unsigned lacks;		 /* FEATURE_* bits: this kernel refuses every value of these */
	char program[4096];	 /* the path of this program */
	uint64_t program_offset; /* of a function in it */
	uint64_t code, data;	 /* addresses to watch, aligned to 64 bytes */
};
/*
 * environment_create() runs as root, because it creates objects that only root can create.
 * environment_drop_privileges() then makes the process unprivileged.
 */
int environment_create(struct environment *env);
int environment_drop_privileges(struct environment *env);
void environment_destroy(struct environment *env);
/*
 * False if the kernel refuses even a plain event of this process. Debian's kernels do so for an
 * ordinary user if kernel.perf_event_paranoid is 3.
 */
bool environment_allows_events(void);

/*
 * count_open_calls() returns the number of open calls made through env->machine since the last
 * reset. take_violation() returns what an open call did that probing must not do, or NULL.
 */
unsigned count_open_calls(bool reset);
const char *take_violation(void);

/* The event that an open call opens. */
enum subject {
	SUBJECT_SOFTWARE,
	SUBJECT_TRACEPOINT,
	SUBJECT_BREAKPOINT,
	SUBJECT_UPROBE,
	SUBJECT_MSR,
	SUBJECT_MAX
};

/* Properties that a mutation requires of the open call. */
enum requirement {
	REQUIRE_SOFTWARE = 1 << SUBJECT_SOFTWARE,
	REQUIRE_TRACEPOINT = 1 << SUBJECT_TRACEPOINT,
	REQUIRE_BREAKPOINT = 1 << SUBJECT_BREAKPOINT,
	REQUIRE_UPROBE = 1 << SUBJECT_UPROBE,
	REQUIRE_MSR = 1 << SUBJECT_MSR,
	REQUIRE_ANY_SUBJECT = (1 << SUBJECT_MAX) - 1,
	REQUIRE_GROUP = 1 << 8,	   /* a member of a group */
	REQUIRE_NO_GROUP = 1 << 9, /* not in a group */
	REQUIRE_CGROUP = 1 << 10,
	REQUIRE_TASK = 1 << 11,	 /* a thread on any CPU */
	REQUIRE_CPU = 1 << 12,	 /* every process of one CPU */
	REQUIRE_PLAIN = 1 << 13, /* no random settings */
};

struct generated_call {
	union {
		struct perch_attr attr;
		unsigned char bytes[GENERATED_BYTES];
	};
	/* the pointer passed to the kernel: bytes, unless the pointer is mutated */
	const void *pointer;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	enum subject subject;
	struct perch_attr leader_attr;
	struct perch_open_call_leader leader;
	bool has_leader;
	bool leader_given;     /* the leader is passed to perch */
	int fd[GENERATED_FDS]; /* closed after the case */
	size_t nr_fds;
	void *ring;	      /* ring of the leader, unmapped after the case */
	bool few_descriptors; /* RLIMIT_NOFILE must be restored */
};

/*
 * Generates open calls until the kernel accepts one. Returns false if the kernel accepts none of
 * many.
 */
bool generated_valid(const struct environment *env, struct build_rng *rng, unsigned requirements,
		     struct generated_call *call);
/*
 * Returns the descriptor, which the caller closes, or a negative errno. Stores the size that the
 * kernel wrote.
 */
int generated_open(const struct generated_call *call, uint32_t *kernel_size);
/* Returns the errno, or 0 if the kernel accepts the open call. */
int generated_refused(const struct generated_call *call, uint32_t *kernel_size);
/* generated_end() closes the descriptor. */
void generated_keep(struct generated_call *call, int fd);
void generated_end(struct generated_call *call);
/* Fills in the open call for perch to explain. */
void generated_describe(struct generated_call *call, int errnum, uint32_t kernel_size,
			struct perch_open_call *open_call);
void generated_print(const struct generated_call *call, int errnum);

#define FOR_ROOT 1
#define FOR_USER 2
#define FOR_ALL	 (FOR_ROOT | FOR_USER)

/* A change that makes an open call invalid. */
struct mutation {
	const char *name;
	const char *fields;	/* separated by commas: the explanation must name one of them */
	enum perch_cause cause; /* the required cause if no field is invalid; NONE: any cause */
	unsigned users;		/* FOR_*; 0: all users */
	unsigned requirements;	/* REQUIRE_* bits */
	/*
	 * FEATURE_* bits: the change sets these fields. The explanation must name them as too new
	 * if this kernel lacks them.
	 */
	unsigned uses;
	unsigned weight; /* frequency in percent of the others; 0: 100 */
	bool alone;	 /* cannot be combined with a second mutation */
	/* the fault is visible in the attr, without facts of the machine */
	bool is_static;
	/* sets attr.size itself; otherwise attr.size is raised to include the change */
	bool sizes;
	/* returns false if it does not apply to this open call */
	bool (*change)(const struct environment *env, struct build_rng *rng,
		       struct generated_call *call);
};

struct mutations {
	const struct mutation *mutation;
	size_t nr;
};
/* Mutations of the attr, the event, and its target and group. */
extern const struct mutations attr_mutations, sample_mutations, event_mutations, target_mutations,
	group_mutations;

/* Lists all mutations that apply to this user. */
#define MUTATIONS_MAX 160
size_t mutations_for(const struct environment *env, const struct mutation *list[MUTATIONS_MAX]);
/* Chooses one of them by weight. */
size_t mutation_pick(const struct mutation *const *list, size_t nr, struct build_rng *rng);
/* Makes the open call invalid. Returns false if the mutation does not apply to it. */
bool mutation_apply(const struct mutation *mutation, const struct environment *env,
		    struct build_rng *rng, struct generated_call *call);

/* The quality of an explanation. */
enum result {
	RESULT_CORRECT,	  /* the only finding is correct */
	RESULT_AMBIGUOUS, /* one of several findings is correct */
	RESULT_WRONG,
	RESULT_MAX
};
bool finding_names(const struct environment *env, const struct perch_finding *finding,
		   const struct mutation *mutation);
enum result evaluate_explanation(const struct environment *env,
				 const struct perch_explanation *explanation,
				 const struct mutation *mutation);
/* True if an explanation of one mutation may name a field of the other one. */
bool mutations_share_field(const struct environment *env, const struct mutation *one,
			   const struct mutation *other);
/* Returns the FEATURE_* bits that this kernel lacks. */
unsigned features_lacking(void);
/* Returns the names of the fields, separated by commas. */
const char *feature_fields(enum feature feature);

#endif
