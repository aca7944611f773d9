/* SPDX-License-Identifier: MIT */
/* Event + options -> attr. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <perch/open.h>

/* Two wishes that contradict each other, or one that needs another. */
struct contradiction {
	bool there;
	const char *field;		/* of the attr */
	const char *sentence;		/* names both */
};

#define NR(array) (sizeof(array) / sizeof(*(array)))
#define SAMPLES(what) (options->sample & PERCH_SAMPLE_##what)
#define FOLLOWS(what) (options->follow & PERCH_FOLLOW_##what)

static int first_contradiction(const struct contradiction *table, size_t nr, struct perch_error *err)
{
	for (size_t i = 0; i < nr; i++) {
		if (!table[i].there)
			continue;
		perch_error_set(err, EINVAL, PERCH_CAUSE_CONFLICT, "%s", table[i].sentence);
		perch_error_field(err, table[i].field, NULL);
		return -EINVAL;
	}
	return 0;
}

/* What the kernel would refuse, or take and not do, told before it is asked. */
static int check_sampling(const struct perch_options *options, struct perch_error *err)
{
	const struct contradiction table[] = {
		{ options->period && options->frequency, "sample_period",
		  "period and frequency exclude each other: a sample comes every so many events, or so many times a second" },
		{ options->wakeup_events && options->wakeup_bytes, "wakeup_events",
		  "wakeup_events and wakeup_bytes exclude each other: the kernel has one field for both" },
		{ SAMPLES(WEIGHT) && SAMPLES(WEIGHT_STRUCT), "sample_type",
		  "PERCH_SAMPLE_WEIGHT and PERCH_SAMPLE_WEIGHT_STRUCT exclude each other: a sample has one weight" },
		{ SAMPLES(BRANCH_STACK) && !(options->branch_sample_type & ~(uint64_t)PERCH_SAMPLE_BRANCH_PLM_ALL),
		  "branch_sample_type",
		  "PERCH_SAMPLE_BRANCH_STACK needs branch_sample_type to name a kind, as PERCH_SAMPLE_BRANCH_ANY" },
		{ options->branch_sample_type && !SAMPLES(BRANCH_STACK), "branch_sample_type",
		  "branch_sample_type needs PERCH_SAMPLE_BRANCH_STACK in sample" },
		{ SAMPLES(REGS_USER) && !options->sample_regs_user, "sample_regs_user",
		  "PERCH_SAMPLE_REGS_USER needs sample_regs_user to name registers" },
		{ options->sample_regs_user && !SAMPLES(REGS_USER), "sample_regs_user",
		  "sample_regs_user needs PERCH_SAMPLE_REGS_USER in sample" },
		{ SAMPLES(REGS_INTR) && !options->sample_regs_intr, "sample_regs_intr",
		  "PERCH_SAMPLE_REGS_INTR needs sample_regs_intr to name registers" },
		{ options->sample_regs_intr && !SAMPLES(REGS_INTR), "sample_regs_intr",
		  "sample_regs_intr needs PERCH_SAMPLE_REGS_INTR in sample" },
		{ options->sample_stack_user && !SAMPLES(STACK_USER), "sample_stack_user",
		  "sample_stack_user needs PERCH_SAMPLE_STACK_USER in sample" },
		{ options->sample_max_stack && !SAMPLES(CALLCHAIN), "sample_max_stack",
		  "sample_max_stack needs PERCH_SAMPLE_CALLCHAIN in sample" },
		{ options->clockid && !options->use_clockid, "clockid",
		  "clockid needs use_clockid: the kernel ignores it otherwise" },
		{ options->aux_pause && options->aux_resume, "aux_action",
		  "aux_pause and aux_resume exclude each other: an event does one of them" },
		{ options->aux_output && (options->aux_pause || options->aux_resume), "aux_output",
		  "aux_output excludes aux_pause and aux_resume" },
		{ options->aux_output && options->aux_sample_size, "aux_output",
		  "aux_output and aux_sample_size exclude each other" },
		{ FOLLOWS(MMAP_DATA) && !FOLLOWS(MMAP), "mmap_data",
		  "PERCH_FOLLOW_MMAP_DATA needs PERCH_FOLLOW_MMAP: data maps are told with the others" },
		{ FOLLOWS(BUILD_ID) && !FOLLOWS(MMAP), "build_id",
		  "PERCH_FOLLOW_BUILD_ID needs PERCH_FOLLOW_MMAP: build ids come in MMAP2 records" },
	};

	return first_contradiction(table, NR(table), err);
}

static int check_scope(const struct perch_options *options, struct perch_error *err)
{
	const struct contradiction table[] = {
		{ options->inherit_thread && !options->inherit, "inherit_thread",
		  "inherit_thread needs inherit: it narrows what is inherited to threads" },
		{ options->inherit_stat && !options->inherit, "inherit_stat",
		  "inherit_stat needs inherit: it is about the counts of children" },
		{ options->inherit && SAMPLES(READ) && !SAMPLES(TID), "inherit",
		  "inherit and PERCH_SAMPLE_READ need PERCH_SAMPLE_TID, which tells whose count a sample has" },
		{ options->enable_on_exec && options->remove_on_exec, "remove_on_exec",
		  "enable_on_exec and remove_on_exec exclude each other: an exec cannot do both" },
		{ options->enabled && options->enable_on_exec, "enable_on_exec",
		  "enabled and enable_on_exec exclude each other: what counts from the start has nothing to wait for" },
		{ options->sigtrap && !options->remove_on_exec, "sigtrap",
		  "sigtrap needs remove_on_exec: a new program would not have the handler" },
		{ options->sig_data && !options->sigtrap, "sig_data", "sig_data needs sigtrap" },
	};

	return first_contradiction(table, NR(table), err);
}

/* Single fields out of their range. */
static int check_ranges(const struct perch_options *options, struct perch_error *err)
{
	if (options->period >> 63) {
		perch_error_set(err, EINVAL, PERCH_CAUSE_PERIOD, "a period of %" PRIu64 " is beyond 2^63-1", options->period);
		perch_error_field(err, "sample_period", NULL);
		return -EINVAL;
	}
	if (options->sample_stack_user % 8 || options->sample_stack_user >= 65535) {
		perch_error_set(err, EINVAL, PERCH_CAUSE_BAD_FIELD,
				"sample_stack_user is %" PRIu32 ", which is no multiple of 8 up to 65528",
				options->sample_stack_user);
		perch_error_field(err, "sample_stack_user", NULL);
		return -EINVAL;
	}
	return 0;
}

static void set_sampling(struct perch_attr *attr, const struct perch_options *options)
{
	attr->sample_type = options->sample;
	attr->sample_id_all = options->sample_id_all;
	if (options->frequency) {
		attr->freq = 1;
		attr->sample_freq = options->frequency;
	} else {
		attr->sample_period = options->period;
	}
	if (options->wakeup_bytes) {
		attr->watermark = 1;
		attr->wakeup_watermark = options->wakeup_bytes;
	} else {
		attr->wakeup_events = options->wakeup_events;
	}
	attr->write_backward = options->write_backward;
	attr->branch_sample_type = options->branch_sample_type;
	attr->sample_regs_user = options->sample_regs_user;
	attr->sample_regs_intr = options->sample_regs_intr;
	attr->sample_stack_user = options->sample_stack_user;
	attr->sample_max_stack = options->sample_max_stack;
	attr->aux_watermark = options->aux_watermark;
	attr->aux_sample_size = options->aux_sample_size;
	attr->aux_output = options->aux_output;
	attr->aux_start_paused = options->aux_start_paused;
	attr->aux_pause = options->aux_pause;
	attr->aux_resume = options->aux_resume;
	attr->defer_callchain = options->defer_callchain;
	attr->defer_output = options->defer_output;
	attr->exclude_callchain_user = options->exclude_callchain_user;
	attr->exclude_callchain_kernel = options->exclude_callchain_kernel;
	attr->sigtrap = options->sigtrap;
	attr->sig_data = options->sig_data;
	attr->use_clockid = options->use_clockid;
	attr->clockid = options->clockid;
}

static void set_follow(struct perch_attr *attr, uint32_t follow)
{
	attr->mmap = attr->mmap2 = !!(follow & PERCH_FOLLOW_MMAP);
	attr->mmap_data = !!(follow & PERCH_FOLLOW_MMAP_DATA);
	attr->comm = attr->comm_exec = !!(follow & PERCH_FOLLOW_COMM);
	attr->task = !!(follow & PERCH_FOLLOW_TASK);
	attr->context_switch = !!(follow & PERCH_FOLLOW_SWITCH);
	attr->namespaces = !!(follow & PERCH_FOLLOW_NAMESPACES);
	attr->ksymbol = !!(follow & PERCH_FOLLOW_KSYMBOL);
	attr->bpf_event = !!(follow & PERCH_FOLLOW_BPF);
	attr->cgroup = !!(follow & PERCH_FOLLOW_CGROUP);
	attr->text_poke = !!(follow & PERCH_FOLLOW_TEXT_POKE);
	attr->build_id = !!(follow & PERCH_FOLLOW_BUILD_ID);
}

/* The event's own words come first; options add to them. */
static void set_scope(struct perch_attr *attr, const struct perch_options *options)
{
	attr->disabled = !options->enabled;
	attr->inherit = options->inherit;
	attr->inherit_thread = options->inherit_thread;
	attr->inherit_stat = options->inherit_stat;
	attr->pinned |= options->pinned;
	attr->exclusive |= options->exclusive;
	attr->exclude_user |= options->exclude_user;
	attr->exclude_kernel |= options->exclude_kernel;
	attr->exclude_hv |= options->exclude_hv;
	attr->exclude_idle |= options->exclude_idle;
	attr->exclude_host |= options->exclude_host;
	attr->exclude_guest |= options->exclude_guest;
	attr->enable_on_exec = options->enable_on_exec;
	attr->remove_on_exec = options->remove_on_exec;
	if (options->precise > attr->precise_ip)
		attr->precise_ip = options->precise;
}

/* Modifier P: what the core PMU says it can do; a machine that does not say is not asked for anything. */
static void set_precise_max(struct perch_attr *attr, const struct perch_machine *machine)
{
	char text[8];

	if (perch_machine_read(machine, "/sys/bus/event_source/devices/cpu/caps/max_precise", text, sizeof(text)) > 0 &&
	    text[0] >= '1' && text[0] <= '3')
		attr->precise_ip = text[0] - '0';
}

/* The event's modifiers and the options together may leave nothing to measure. */
static int check_sides(const struct perch_attr *attr, const struct perch_event *event, struct perch_error *err)
{
	if (!attr->exclude_user || !attr->exclude_kernel || !attr->exclude_hv)
		return 0;
	perch_error_set(err, EINVAL, PERCH_CAUSE_CONFLICT,
			"nothing of '%s' is left to measure: exclude_user, exclude_kernel and exclude_hv are all set",
			event->name);
	perch_error_field(err, "exclude_user", NULL);
	perch_error_remedy(err, "leave out the modifier, or the exclude_* option that takes away what it asks for");
	return -EINVAL;
}

/* The smallest version that holds what is set, so that old kernels are not asked for what nobody wants. */
static uint32_t size_of(const struct perch_attr *attr)
{
	static const uint32_t sizes[] = {
		PERCH_ATTR_SIZE_VER0, PERCH_ATTR_SIZE_VER1, PERCH_ATTR_SIZE_VER2, PERCH_ATTR_SIZE_VER3,
		PERCH_ATTR_SIZE_VER4, PERCH_ATTR_SIZE_VER5, PERCH_ATTR_SIZE_VER6, PERCH_ATTR_SIZE_VER7,
		PERCH_ATTR_SIZE_VER8, PERCH_ATTR_SIZE_VER9,
	};
	const unsigned char *bytes = (const unsigned char *)attr;
	size_t used = sizeof(*attr);

	while (used && !bytes[used - 1])
		used--;
	for (size_t i = 0; i < NR(sizes); i++)
		if (used <= sizes[i])
			return sizes[i];
	return sizeof(*attr);
}

int perch_attr_build(struct perch_attr *attr, const struct perch_event *event, const struct perch_options *options,
		     struct perch_error *err)
{
	static const struct perch_options plain = {
		.read = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
	};
	int rc;

	if (!options)
		options = &plain;
	rc = check_sampling(options, err);
	if (!rc)
		rc = check_scope(options, err);
	if (!rc)
		rc = check_ranges(options, err);
	if (rc)
		return rc;
	*attr = event->attr;
	attr->read_format = options->read;
	set_sampling(attr, options);
	set_follow(attr, options->follow);
	set_scope(attr, options);
	if (event->precise_max && !options->precise)
		set_precise_max(attr, options->machine);
	rc = check_sides(attr, event, err);
	if (rc)
		return rc;
	attr->size = 0;
	attr->size = size_of(attr);
	return 0;
}
