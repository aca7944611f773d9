/* SPDX-License-Identifier: MIT */
/* Generates random open calls until the kernel accepts one. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "generated.h"

/* Registers that x86 can sample, without segment registers. */
#define X86_REGS UINT64_C(0xff0fff)
/* The number of open calls that are tried until one is valid. */
#define ATTEMPTS 60

/* ---- Random settings ---- */

static uint64_t random_bits(struct build_rng *rng, uint64_t of, unsigned percent)
{
	uint64_t bits = 0;

	for (unsigned bit = 0; bit < 64; bit++)
		if (of >> bit & 1 && build_percent(rng, percent))
			bits |= UINT64_C(1) << bit;
	return bits;
}

/* Bits that any event may have. */
static void add_random_flags(const struct environment *env, struct build_rng *rng,
			     struct perch_attr *attr)
{
#define SET_SOMETIMES(field, percent) (attr->field = build_percent(rng, percent))
	SET_SOMETIMES(mmap, 15);
	SET_SOMETIMES(comm, 15);
	SET_SOMETIMES(task, 15);
	SET_SOMETIMES(inherit_stat, 10);
	SET_SOMETIMES(watermark, 15);
	SET_SOMETIMES(mmap_data, 10);
	SET_SOMETIMES(sample_id_all, 30);
	SET_SOMETIMES(exclude_callchain_kernel, 10);
	SET_SOMETIMES(exclude_callchain_user, 10);
	SET_SOMETIMES(mmap2, 15);
	SET_SOMETIMES(comm_exec, 10);
	SET_SOMETIMES(context_switch, 10);
	SET_SOMETIMES(write_backward, 10);
	SET_SOMETIMES(bpf_event, 5);
	SET_SOMETIMES(cgroup, 10);
	SET_SOMETIMES(text_poke, 5);
	SET_SOMETIMES(build_id, 10);
	if (env->privileged) {
		SET_SOMETIMES(namespaces, 5);
		SET_SOMETIMES(ksymbol, 5);
	}
	if (SET_SOMETIMES(remove_on_exec, 20))
		SET_SOMETIMES(sigtrap, 40);
	else
		SET_SOMETIMES(enable_on_exec, 20);
	if (SET_SOMETIMES(inherit, 25))
		SET_SOMETIMES(inherit_thread, 25);
	attr->precise_ip = build_percent(rng, 15) ? build_below(rng, 4) : 0;
	attr->wakeup_events = build_percent(rng, 20) ? build_below(rng, 1000) : 0;
#undef SET_SOMETIMES
}

static void add_random_excludes(const struct environment *env, struct build_rng *rng,
				struct perch_attr *attr)
{
	attr->exclude_user = build_percent(rng, 8);
	attr->exclude_kernel = build_percent(rng, 25) || !env->privileged;
	attr->exclude_hv = build_percent(rng, 20);
	attr->exclude_idle = build_percent(rng, 8);
	attr->exclude_host = build_percent(rng, 4);
	attr->exclude_guest = build_percent(rng, 8);
}

static void add_random_clock(struct build_rng *rng, struct generated_call *call)
{
	static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME,
				      CLOCK_BOOTTIME, CLOCK_TAI };
	bool any = call->subject == SUBJECT_SOFTWARE || call->subject == SUBJECT_MSR;

	if (!build_percent(rng, 15))
		return;
	call->attr.use_clockid = build_percent(rng, 90);
	call->attr.clockid = clocks[build_below(rng, any ? COUNT_OF(clocks) : 2)];
}

/* Sets sample contents, and sometimes fields whose sample_type bit is not set. */
static void add_random_samples(const struct environment *env, struct build_rng *rng,
			       struct generated_call *call)
{
	uint64_t any = (PERCH_SAMPLE_MAX - 1) &
		       ~(uint64_t)(PERCH_SAMPLE_BRANCH_STACK | PERCH_SAMPLE_WEIGHT_TYPE |
				   PERCH_SAMPLE_RAW | PERCH_SAMPLE_PHYS_ADDR);
	struct perch_attr *attr = &call->attr;

	if (env->privileged)
		any |= PERCH_SAMPLE_PHYS_ADDR;
	if (env->privileged || call->subject != SUBJECT_TRACEPOINT)
		any |= PERCH_SAMPLE_RAW;
	any |= build_percent(rng, 50) ? PERCH_SAMPLE_WEIGHT : PERCH_SAMPLE_WEIGHT_STRUCT;
	attr->sample_type = random_bits(rng, any, 5 + build_below(rng, 40));
	if (attr->inherit && attr->sample_type & PERCH_SAMPLE_READ)
		attr->sample_type |= PERCH_SAMPLE_TID;
	if (attr->sample_type & PERCH_SAMPLE_REGS_USER)
		attr->sample_regs_user = random_bits(rng, X86_REGS, 50) | 1;
	if (attr->sample_type & PERCH_SAMPLE_REGS_INTR)
		attr->sample_regs_intr = random_bits(rng, X86_REGS, 50) | 1;
	if (attr->sample_type & PERCH_SAMPLE_STACK_USER)
		attr->sample_stack_user = 8 * build_below(rng, 8192);
	if (build_percent(rng, attr->sample_type & PERCH_SAMPLE_CALLCHAIN ? 30 : 3))
		attr->sample_max_stack = build_below(rng, env->max_stack + 1);
	if (build_percent(rng, 3))
		attr->branch_sample_type = random_bits(rng, PERCH_SAMPLE_BRANCH_MAX - 1, 20);
}

static void add_random_period(const struct environment *env, struct build_rng *rng,
			      struct perch_attr *attr)
{
	if (build_percent(rng, 40)) {
		attr->freq = 1;
		attr->sample_freq = build_below(rng, env->max_rate + 1);
	} else {
		attr->sample_period = 1 + (build_random(rng) >> (1 + build_below(rng, 60)));
		attr->sample_period &= INT64_MAX;
	}
}

/* A size that includes all nonzero fields. 0 means the first version. */
static void choose_size(struct build_rng *rng, struct generated_call *call)
{
	static const uint32_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144 };
	size_t used = PERCH_ATTR_SIZE_VER0;

	for (size_t i = used; i < sizeof(call->attr); i++)
		if (call->bytes[i])
			used = i + 1;
	call->attr.size = sizeof(call->attr);
	if (build_percent(rng, 60))
		return;
	if (used == PERCH_ATTR_SIZE_VER0 && build_percent(rng, 20))
		call->attr.size = 0;
	else if (build_percent(rng, 10))
		call->attr.size = sizeof(call->attr) + 8 * build_below(rng, 400);
	else
		do
			call->attr.size = sizes[build_below(rng, COUNT_OF(sizes))];
		while (call->attr.size < used);
}

/* ---- The event ---- */

static void make_breakpoint(const struct environment *env, struct build_rng *rng,
			    struct perch_attr *attr)
{
	static const uint32_t types[] = { PERCH_BREAKPOINT_W, PERCH_BREAKPOINT_RW,
					  PERCH_BREAKPOINT_X };

	attr->type = PERCH_TYPE_BREAKPOINT;
	attr->bp_type = types[build_below(rng, COUNT_OF(types))];
	if (attr->bp_type == PERCH_BREAKPOINT_X) {
		attr->bp_addr = env->code;
		attr->bp_len = sizeof(long);
	} else {
		attr->bp_len = UINT64_C(1) << build_below(rng, 4);
		attr->bp_addr = env->data + attr->bp_len * build_below(rng, 64);
	}
}

static void make_uprobe(const struct environment *env, struct build_rng *rng,
			struct perch_attr *attr)
{
	attr->type = env->uprobe_type;
	attr->config = build_percent(rng, 30);
	attr->config1 = (uintptr_t)env->program;
	attr->config2 = env->program_offset;
}

static bool choose_subject(const struct environment *env, struct build_rng *rng,
			   unsigned requirements, enum subject *subject)
{
	static const unsigned shares[] = { 500, 200, 150, 1, 120 };
	unsigned roll, sum = 0;

	requirements &= REQUIRE_ANY_SUBJECT;
	if (!requirements)
		requirements = REQUIRE_ANY_SUBJECT;
	if (!env->nr_tracepoints)
		requirements &= ~REQUIRE_TRACEPOINT;
	if (!env->uprobe_type || !env->privileged || !env->program_offset)
		requirements &= ~REQUIRE_UPROBE;
	if (!env->msr_type || !env->privileged)
		requirements &= ~REQUIRE_MSR;
	for (size_t i = 0; i < COUNT_OF(shares); i++)
		sum += requirements >> i & 1 ? shares[i] : 0;
	roll = build_below(rng, sum);
	for (size_t i = 0; i < COUNT_OF(shares); i++) {
		if (!(requirements >> i & 1))
			continue;
		*subject = i;
		if (roll < shares[i])
			break;
		roll -= shares[i];
	}
	return sum;
}

static void make_subject(const struct environment *env, struct build_rng *rng,
			 struct generated_call *call)
{
	struct perch_attr *attr = &call->attr;

	switch (call->subject) {
	case SUBJECT_SOFTWARE:
		attr->type = PERCH_TYPE_SOFTWARE;
		attr->config = build_below(rng, PERCH_COUNT_SW_MAX);
		break;
	case SUBJECT_TRACEPOINT:
		attr->type = PERCH_TYPE_TRACEPOINT;
		attr->config = env->tracepoint[build_below(rng, env->nr_tracepoints)];
		break;
	case SUBJECT_BREAKPOINT:
		make_breakpoint(env, rng, attr);
		break;
	case SUBJECT_UPROBE:
		make_uprobe(env, rng, attr);
		break;
	default:
		attr->type = env->msr_type;
	}
}

/* The msr PMU counts in all modes. */
static void add_random_settings(const struct environment *env, struct build_rng *rng,
				struct generated_call *call)
{
	bool samples = call->subject != SUBJECT_MSR && build_percent(rng, 65);

	add_random_flags(env, rng, &call->attr);
	add_random_clock(rng, call);
	if (call->subject != SUBJECT_MSR)
		add_random_excludes(env, rng, &call->attr);
	call->attr.read_format = build_percent(rng, 50) ? build_below(rng, PERCH_FORMAT_MAX) : 0;
	if (samples || build_percent(rng, 20))
		add_random_samples(env, rng, call);
	if (samples)
		add_random_period(env, rng, &call->attr);
	if (call->attr.sigtrap)
		call->attr.sig_data = build_random(rng);
}

/* ---- Target and group ---- */

static int random_cpu(const struct environment *env, struct build_rng *rng)
{
	return env->cpu[build_below(rng, env->nr_cpus)];
}

static void choose_task(const struct environment *env, struct build_rng *rng,
			struct generated_call *call)
{
	const pid_t tasks[] = { 0, 0, env->self, env->child, env->child, env->kthread };

	call->pid = tasks[build_below(rng, COUNT_OF(tasks) - !env->kthread)];
	call->cpu = build_percent(rng, 70) ? -1 : random_cpu(env, rng);
}

/* A cgroup, every process of a CPU, or a thread. */
static bool choose_target(const struct environment *env, struct build_rng *rng,
			  unsigned requirements, struct generated_call *call)
{
	bool may = env->privileged && !(requirements & REQUIRE_TASK);

	if (requirements & REQUIRE_CGROUP ||
	    (may && !(requirements & REQUIRE_CPU) && build_percent(rng, 8))) {
		if (env->cgroup[0] < 0 || !env->privileged)
			return false;
		call->flags |= PERCH_FLAG_PID_CGROUP;
		call->pid = env->cgroup[0];
		call->cpu = random_cpu(env, rng);
	} else if (requirements & REQUIRE_CPU || (may && build_percent(rng, 15))) {
		if (!env->privileged)
			return false;
		call->pid = -1;
		call->cpu = random_cpu(env, rng);
	} else {
		choose_task(env, rng, call);
		if (requirements & REQUIRE_TASK)
			call->cpu = -1;
	}
	if (call->pid == -1 || call->flags & PERCH_FLAG_PID_CGROUP)
		call->attr.sigtrap = 0;
	return true;
}

static void make_leader_attr(const struct environment *env, struct build_rng *rng,
			     const struct generated_call *call, struct generated_call *leader)
{
	struct perch_attr *attr = &leader->attr;
	uint64_t tracepoint = env->nr_tracepoints ? env->tracepoint[0] : 0;

	leader->subject = build_percent(rng, 20) && tracepoint ? SUBJECT_TRACEPOINT
							       : SUBJECT_SOFTWARE;
	attr->type = leader->subject == SUBJECT_TRACEPOINT ? PERCH_TYPE_TRACEPOINT
							   : PERCH_TYPE_SOFTWARE;
	attr->config = leader->subject == SUBJECT_TRACEPOINT ? tracepoint
							     : build_below(rng, PERCH_COUNT_SW_MAX);
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->exclude_kernel = !env->privileged || build_percent(rng, 20);
	attr->inherit = call->attr.inherit;
	attr->read_format = build_below(rng, PERCH_FORMAT_MAX);
	attr->pinned = build_percent(rng, 10);
	attr->use_clockid = call->attr.use_clockid;
	attr->clockid = call->attr.use_clockid ? call->attr.clockid : 0;
	attr->write_backward = call->attr.write_backward;
}

/* Maps a ring for the leader if possible, to redirect output to it. */
static void map_ring(struct generated_call *call, int leader)
{
	void *ring;

	ring = mmap(NULL, 2 * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, leader, 0);
	if (ring == MAP_FAILED)
		return;
	call->ring = ring;
	call->leader.has_ring = true;
	call->flags |= PERCH_FLAG_FD_OUTPUT;
}

static bool make_group(const struct environment *env, struct build_rng *rng,
		       struct generated_call *call)
{
	struct generated_call leader = { .pid = call->pid,
					 .cpu = call->cpu,
					 .group_fd = -1,
					 .flags = (call->flags & PERCH_FLAG_PID_CGROUP) |
						  PERCH_FLAG_FD_CLOEXEC };
	int fd;

	leader.pointer = leader.bytes;
	make_leader_attr(env, rng, call, &leader);
	fd = generated_open(&leader, NULL);
	if (fd < 0)
		return false;
	generated_keep(call, fd);
	call->leader_attr = leader.attr;
	call->leader = (struct perch_open_call_leader){ .attr = &call->leader_attr,
							.pid = leader.pid,
							.cpu = leader.cpu,
							.flags = leader.flags,
							.members = 1 };
	call->has_leader = true;
	call->leader_given = build_percent(rng, 50);
	call->group_fd = fd;
	call->attr.pinned = call->attr.exclusive = 0;
	if (build_percent(rng, 20))
		map_ring(call, fd);
	return true;
}

static bool make_call(const struct environment *env, struct build_rng *rng, unsigned requirements,
		      struct generated_call *call)
{
	memset(call, 0, sizeof(*call));
	call->pointer = call->bytes;
	call->group_fd = -1;
	if (!choose_subject(env, rng, requirements, &call->subject))
		return false;
	make_subject(env, rng, call);
	call->attr.disabled = 1;
	call->attr.exclude_kernel = !env->privileged;
	if (!(requirements & REQUIRE_PLAIN))
		add_random_settings(env, rng, call);
	if (build_percent(rng, 50))
		call->flags |= PERCH_FLAG_FD_CLOEXEC;
	if (!choose_target(env, rng, requirements, call))
		return false;
	if (requirements & REQUIRE_GROUP ||
	    (!(requirements & (REQUIRE_NO_GROUP | REQUIRE_PLAIN)) && build_percent(rng, 20))) {
		if (!make_group(env, rng, call))
			return false;
	} else {
		call->attr.pinned = build_percent(rng, 10);
		call->attr.exclusive = build_percent(rng, 10);
		if (build_percent(rng, 5))
			call->flags |= PERCH_FLAG_FD_NO_GROUP;
		if (build_percent(rng, 5))
			call->flags |= PERCH_FLAG_FD_OUTPUT;
	}
	/* The signal of an enabled event would kill the test. */
	call->attr.disabled = call->subject == SUBJECT_UPROBE || call->attr.sigtrap ||
			      build_percent(rng, 80);
	choose_size(rng, call);
	return true;
}

bool generated_valid(const struct environment *env, struct build_rng *rng, unsigned requirements,
		     struct generated_call *call)
{
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (make_call(env, rng, requirements, call) && !generated_refused(call, NULL))
			return true;
		generated_end(call);
	}
	return false;
}
