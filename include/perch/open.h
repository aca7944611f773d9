/* SPDX-License-Identifier: MIT */
/*
 * Event + options -> attr; attr + target -> file descriptor.
 *
 * target NULL is the calling thread, machine NULL this machine, options NULL all zeros. What opens
 * one event returns its descriptor, or a negative errno.
 */
#ifndef PERCH_OPEN_H
#define PERCH_OPEN_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/event.h>
#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whom to measure. pid 0: the calling thread; -1: everyone. cpu -1: on every CPU. Not both -1. */
struct perch_target {
	pid_t pid;
	int cpu;
	/* > 0: a descriptor of a cgroup's folder (no O_PATH) instead of pid; needs a cpu */
	int cgroup_fd;
};
/* clang-format off */
#define PERCH_SELF_INIT { 0, -1, 0 }
/* clang-format on */
/* Written as values: &PERCH_SELF, &PERCH_ALL_CPUS. */
PERCH_API extern const struct perch_target perch_self; /* { .pid = 0, .cpu = -1 } */
/* { .pid = -1, .cpu = -1 }: samplers and sets only */
PERCH_API extern const struct perch_target perch_all_cpus;
#define PERCH_SELF     perch_self
#define PERCH_ALL_CPUS perch_all_cpus

/*
 * Many targets, for what is opened on each of them: every thread of a process, every CPU, every CPU
 * of a cgroup. Start with { 0 }, add, use, clear. The add functions leave the list as it was when
 * they fail.
 */
struct perch_targets {
	size_t nr;
	struct perch_target *target;
	/* private: the cgroups opened here, closed by perch_targets_clear() */
	size_t nr_cgroups;
	int *cgroup;
};
PERCH_API int perch_targets_add(struct perch_targets *targets, const struct perch_target *target,
				struct perch_error *err);
/*
 * Every thread that the process has now; pid 0: this one. With options.inherit, those that they
 * start once the events are open are counted too; those started between this call and the open are
 * not: stop a process whose start must be whole. -ESRCH.
 */
PERCH_API int perch_targets_add_process(struct perch_targets *targets, pid_t pid,
					struct perch_machine *machine, struct perch_error *err);
/* One thread; tid 0: the calling one. -ESRCH when there is none. */
PERCH_API int perch_targets_add_thread(struct perch_targets *targets, pid_t tid,
				       struct perch_machine *machine, struct perch_error *err);
/* Everything on each of these CPUs; cpus NULL: all online ones. -ENODEV for one that is offline or
 * not there; -EINVAL for none. */
PERCH_API int perch_targets_add_cpus(struct perch_targets *targets, const struct perch_cpus *cpus,
				     struct perch_machine *machine, struct perch_error *err);
/*
 * The processes of a cgroup, on each of these CPUs. path: from where cgroups are mounted on
 * ("system.slice", or
 * "/system.slice" as /proc/PID/cgroup has it), or the whole one below that. -ENOENT; -EINVAL for
 * one that leads out.
 */
PERCH_API int perch_targets_add_cgroup(struct perch_targets *targets, const char *path,
				       const struct perch_cpus *cpus, struct perch_machine *machine,
				       struct perch_error *err);
/* Every target that has no CPU of its own becomes one for each of these CPUs (NULL: all online
 * ones). */
PERCH_API int perch_targets_split(struct perch_targets *targets, const struct perch_cpus *cpus,
				  struct perch_machine *machine, struct perch_error *err);
/* Closes the cgroups and frees the list, which is empty then. NULL: nothing. */
PERCH_API void perch_targets_clear(struct perch_targets *targets);

/* Records beside samples, for perch_options.sideband. */
enum perch_sideband {
	PERCH_SIDEBAND_MMAP = 1 << 0, /* executable mappings, as MMAP2 (3.16) */
	/* the non-executable ones, as MMAP where they are alone (2.6.36) */
	PERCH_SIDEBAND_MMAP_DATA = 1 << 1,
	PERCH_SIDEBAND_COMM = 1 << 2,	    /* names of threads, exec flagged (3.16) */
	PERCH_SIDEBAND_TASK = 1 << 3,	    /* FORK and EXIT */
	PERCH_SIDEBAND_SWITCH = 1 << 4,	    /* context switches (4.3) */
	PERCH_SIDEBAND_NAMESPACES = 1 << 5, /* 4.12 */
	PERCH_SIDEBAND_KSYMBOL = 1 << 6,    /* 5.1 */
	PERCH_SIDEBAND_BPF = 1 << 7,	    /* 5.1 */
	PERCH_SIDEBAND_CGROUP = 1 << 8,	    /* 5.7 */
	PERCH_SIDEBAND_TEXT_POKE = 1 << 9,  /* 5.9 */
	PERCH_SIDEBAND_BUILD_ID = 1 << 10,  /* build ids inside MMAP2 (5.12) */
	PERCH_SIDEBAND_MAX = 1 << 11,	    /* above the last one: refused */
};

/*
 * Everything perf_event_open(2) can be asked for; zero means the kernel's default. What the event's
 * text says by modifiers is added to it; what it says by terms (struct perch_event_terms) wins over
 * it, those about samples where the open takes samples. In brackets: the kernel release that first
 * had it. NULL options: a plain counter, disabled, with times.
 */
struct perch_options {
	/*
	 * Sampling: at most one of the two; both 0 counts. Terms of the event (period=, freq=) win
	 * over them where the open samples, that is where one of these three is set.
	 */
	uint64_t period; /* a sample every so many events; 1..2^63-1 */
	/* samples a second; up to kernel.perf_event_max_sample_rate */
	uint64_t frequency;
	uint64_t sample; /* PERCH_SAMPLE_*: what a sample holds */
	/* PERCH_FORMAT_*: what read(2) gives; counters and groups add what they need */
	uint64_t read;
	uint32_t sideband; /* PERCH_SIDEBAND_*: records beside samples */
	/* wake poll(2) every so many samples; not with wakeup_bytes. 0: as wakeup_bytes 0 */
	uint32_t wakeup_events;
	/* wake when so many bytes wait in the ring (2.6.32); 0: when it is half full */
	uint32_t wakeup_bytes;
	/* skid: 0 any, 1 constant, 2 asked 0, 3 must be 0 (2.6.35); for samples alone */
	unsigned precise : 2;
	/* start counting at once (attr.disabled is set otherwise) */
	unsigned enabled : 1;
	/*
	 * children and threads made later too; with PERCH_SAMPLE_READ: 6.13, and _TID. Not of an
	 * event with a path (probes): the measured process could not fork any more
	 */
	unsigned inherit : 1;
	unsigned inherit_thread : 1; /* threads only (5.13); needs inherit */
	/* a READ record with the counts of each task that ends; needs inherit */
	unsigned inherit_stat : 1;
	/* always on the PMU, or in error: then read(2) gives nothing. Leaders alone */
	unsigned pinned : 1;
	unsigned exclusive : 1;	   /* no other group on the PMU beside it. Leaders alone */
	unsigned exclude_user : 1; /* do not count user space */
	/* nor the kernel: ordinary users must, above kernel.perf_event_paranoid 1 */
	unsigned exclude_kernel : 1;
	/* nor the hypervisor, on the few machines whose PMU knows one */
	unsigned exclude_hv : 1;
	unsigned exclude_idle : 1;  /* nor the idle task; few PMUs can (arm64's cannot) */
	unsigned exclude_host : 1;  /* nor this machine, but its guests (3.2) */
	unsigned exclude_guest : 1; /* nor guests (3.2) */
	/* call chains end where the kernel was entered (3.7) */
	unsigned exclude_callchain_user : 1;
	unsigned exclude_callchain_kernel : 1; /* call chains without the kernel's part (3.7) */
	/* starts when the target executes a program; not with enabled */
	unsigned enable_on_exec : 1;
	unsigned remove_on_exec : 1; /* ends then (5.13); not with enable_on_exec */
	unsigned sample_id_all : 1;  /* id, time, cpu... of .sample on every record (2.6.38) */
	/* overwrite ring, filled from its end; to be mapped read-only (4.7) */
	unsigned write_backward : 1;
	/* samples go into the leader's AUX area (5.4); not with aux_sample_size, aux_pause */
	unsigned aux_output : 1;
	unsigned aux_start_paused : 1; /* an AUX event that starts paused (6.13) */
	/* a sample pauses the leader's AUX tracing (6.13); not with aux_resume */
	unsigned aux_pause : 1;
	unsigned aux_resume : 1; /* a sample lets it go on (6.13) */
	/* the user's call chain is taken on the way back to user space (6.19) */
	unsigned defer_callchain : 1;
	/* and its CALLCHAIN_DEFERRED record comes into this event's ring (6.19) */
	unsigned defer_output : 1;
	/* SIGTRAP to the thread at each sample (5.13); needs remove_on_exec */
	unsigned sigtrap : 1;
	/* clockid below holds (4.1); else times are of the kernel's own clock */
	unsigned use_clockid : 1;
	/*
	 * CLOCK_MONOTONIC, _MONOTONIC_RAW; for software events also _REALTIME, _BOOTTIME, _TAI,
	 * which cannot be read in the interrupts of others. All events of a group or of one ring
	 * have the same.
	 */
	int32_t clockid;
	/* the SIGTRAP handler finds it in si_perf_data (5.13); cut to a long's size */
	uint64_t sig_data;
	/* PERCH_SAMPLE_BRANCH_*: which branches, with PERCH_SAMPLE_BRANCH_STACK (3.4) */
	uint64_t branch_sample_type;
	/* bit n: register n of <asm/perf_regs.h>, with PERCH_SAMPLE_REGS_USER (3.7) */
	uint64_t sample_regs_user;
	/* the same where the event came, with PERCH_SAMPLE_REGS_INTR (3.19) */
	uint64_t sample_regs_intr;
	/* bytes with PERCH_SAMPLE_STACK_USER: a multiple of 8, 8..65528 (3.7) */
	uint32_t sample_stack_user;
	/* wake when so many bytes wait in the AUX area (4.1); 0: when it is half full */
	uint32_t aux_watermark;
	/* bytes of AUX data in a sample with PERCH_SAMPLE_AUX: 1..65535 (5.5) */
	uint32_t aux_sample_size;
	/* frames, up to kernel.perf_event_max_stack, which is what 0 means (4.8) */
	uint16_t sample_max_stack;
	/*
	 * counters: read without a system call where the machine lets (count.h). On arm64 the event
	 * must be a task's, and kernel.perf_user_access 1 (5.17)
	 */
	unsigned self_monitoring : 1;
	/*
	 * Fields, or bits of sample_type, read_format and branch_sample_type, to do without where
	 * the kernel is too old for them: whatever is not 0 here. NULL: none. What was left out is
	 * told by perch_open_optional() and by perch_counter_missing_features() and their like.
	 */
	const struct perch_attr *optional;
	struct perch_machine *machine; /* NULL: this machine, the kernel's own calls */
};

/* Makes the attr of an event with options (NULL: defaults). Contradictions are refused, naming both
 * fields. */
PERCH_API int perch_attr_build(struct perch_attr *attr, const struct perch_event *event,
			       const struct perch_options *options, struct perch_error *err);

/*
 * How samples tell their callers: sets what perf's --call-graph sets, in place of an earlier
 * choice. stack_bytes is for PERCH_CALL_GRAPH_DWARF: bytes of the user's stack in each sample, up
 * to 65528 and rounded up to 8; 0: 8192. PERCH_CALL_GRAPH_LBR becomes _FP with exclude_user, or
 * where other branches are sampled: the CPU remembers one kind.
 */
PERCH_API int perch_options_set_call_graph(struct perch_options *options,
				       enum perch_call_graph_mode how, uint32_t stack_bytes,
				       struct perch_error *err);

/*
 * perf_event_open(2), with PERCH_FLAG_FD_CLOEXEC added. group_fd -1: no group. Returns the
 * descriptor. A refusal is explained: with machine NULL (this one) by static rules alone, without
 * another system call; with a machine, also by the facts it knows or reads from its files. target
 * NULL: the calling thread.
 */
PERCH_API int perch_open(const struct perch_attr *attr, const struct perch_target *target,
			 int group_fd, unsigned long flags, struct perch_machine *machine,
			 struct perch_error *err);

/*
 * perch_open() that does without optional parts of the attr when the kernel does not know them
 * (E2BIG, EINVAL): the newest go first, until it takes the rest; then each that went before the
 * last one is tried again, so that none is missing but those that must. *attr is left as it was
 * accepted; *dropped (may be NULL) has what was cleared. optional NULL: nothing is.
 */
PERCH_API int perch_open_optional(struct perch_attr *attr, const struct perch_attr *optional,
				  struct perch_attr *missing_features,
				  const struct perch_target *target, int group_fd,
				  unsigned long flags, struct perch_machine *machine,
				  struct perch_error *err);
/* "ksymbol, sample_type CGROUP": the parts that are not 0, for telling. Returns buffer. */
PERCH_API const char *perch_format_attr_features(const struct perch_attr *attr, char *buffer,
						 size_t size);

/*
 * The calls on an open event, by its descriptor: perch_counter_fd(), perch_group_fd(),
 * perch_set_fd(), perch_sampler_ring_fd(). machine NULL: this one. Each is one system call; a
 * refusal says what the kernel wants.
 */
/* group: the whole group of the leader fd. */
PERCH_API int perch_event_enable(int fd, bool group, struct perch_machine *machine,
				 struct perch_error *err);
PERCH_API int perch_event_disable(int fd, bool group, struct perch_machine *machine,
				  struct perch_error *err);
/* The count becomes 0; the times go on. */
PERCH_API int perch_event_reset(int fd, bool group, struct perch_machine *machine,
				struct perch_error *err);
/*
 * Enables a sampling event for so many more samples (1..2^31-1), then it disables itself: with
 * fcntl(2) O_ASYNC the last one's signal has si_code POLL_HUP. Not for inherited events.
 */
PERCH_API int perch_event_refresh(int fd, unsigned samples, struct perch_machine *machine,
				  struct perch_error *err);
/*
 * A new period, or frequency when the event has attr.freq: 1..2^63-1. Of cpu-clock and task-clock
 * always the period, in nanoseconds: the kernel makes one of their frequency. Before 3.14 it holds
 * from the next overflow on.
 */
PERCH_API int perch_event_set_period(int fd, uint64_t period, struct perch_machine *machine,
				     struct perch_error *err);
/* Its records go into the ring of another event, which is mapped; -1: into its own again. */
PERCH_API int perch_event_set_output(int fd, int into_fd, struct perch_machine *machine,
				     struct perch_error *err);
/* A tracepoint's filter expression (2.6.33), which cannot be replaced later (EEXIST), or an address
 * filter (4.7). */
PERCH_API int perch_event_set_filter(int fd, const char *filter, struct perch_machine *machine,
				     struct perch_error *err);
/* The id in samples and reads (3.12). */
PERCH_API int perch_event_id(int fd, uint64_t *id, struct perch_machine *machine,
			     struct perch_error *err);
/* Runs a BPF program, by its descriptor, on each hit (4.1). */
PERCH_API int perch_event_set_bpf(int fd, int program_fd, struct perch_machine *machine,
				  struct perch_error *err);
/* The ids of BPF programs on a tracepoint (4.16): *nr is how many there are; at most room of them,
 * and 64, are stored. */
PERCH_API int perch_event_query_bpf(int fd, uint32_t *ids, uint32_t room, uint32_t *nr,
				    struct perch_machine *machine, struct perch_error *err);
/* Stops and lets go on the writing into the event's ring (4.7). */
PERCH_API int perch_event_pause_output(int fd, bool pause, struct perch_machine *machine,
				       struct perch_error *err);
/* Moves a breakpoint: another bp_addr, bp_len, bp_type or sig_data, the rest of attr as it was
 * opened (4.17). */
PERCH_API int perch_event_modify(int fd, const struct perch_attr *attr,
				 struct perch_machine *machine, struct perch_error *err);
/* Every event that this thread has opened on itself, leaders alone: prctl(2). */
PERCH_API int perch_tasks_enable(struct perch_machine *machine, struct perch_error *err);
PERCH_API int perch_tasks_disable(struct perch_machine *machine, struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif
