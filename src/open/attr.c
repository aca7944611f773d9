/* SPDX-License-Identifier: MIT */
/* Builds an attr from an event and options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

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

static void set_sideband(struct perch_attr *attr, uint32_t sideband)
{
	attr->mmap = attr->mmap2 = !!(sideband & PERCH_SIDEBAND_MMAP);
	attr->mmap_data = !!(sideband & PERCH_SIDEBAND_MMAP_DATA);
	attr->comm = attr->comm_exec = !!(sideband & PERCH_SIDEBAND_COMM);
	attr->task = !!(sideband & PERCH_SIDEBAND_TASK);
	attr->context_switch = !!(sideband & PERCH_SIDEBAND_SWITCH);
	attr->namespaces = !!(sideband & PERCH_SIDEBAND_NAMESPACES);
	attr->ksymbol = !!(sideband & PERCH_SIDEBAND_KSYMBOL);
	attr->bpf_event = !!(sideband & PERCH_SIDEBAND_BPF);
	attr->cgroup = !!(sideband & PERCH_SIDEBAND_CGROUP);
	attr->text_poke = !!(sideband & PERCH_SIDEBAND_TEXT_POKE);
	attr->build_id = !!(sideband & PERCH_SIDEBAND_BUILD_ID);
}

/* The modifiers of the event are set already; options are added to them. */
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

/*
 * Modifier P: caps/max_precise of the event's core PMU. Without that file, or without sampling,
 * precise_ip stays 0.
 */
static void set_precise_max(struct perch_attr *attr, const struct perch_options *options)
{
	const struct perch_pmu *pmu = NULL;
	char path[192], text[8];

	if (options->precise || !perch__is_sampling(options))
		return;
	if (options->machine &&
	    (attr->type >= PERCH_TYPE_MAX || attr->config >> PERCH_PMU_TYPE_SHIFT))
		pmu = perch__core_pmu(attr, options->machine);
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/caps/max_precise",
		 pmu ? pmu->name : "cpu");
	if (perch_machine_read(options->machine, path, text, sizeof(text)) > 0 && text[0] >= '1' &&
	    text[0] <= '3')
		attr->precise_ip = text[0] - '0';
}

/* Modifiers and options together may exclude everything. */
static int check_exclusions(const struct perch_attr *attr, const struct perch_event *event,
			    struct perch_error *err)
{
	bool privilege = attr->exclude_user && attr->exclude_kernel && attr->exclude_hv;

	if (!privilege && !(attr->exclude_host && attr->exclude_guest))
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT, "'%s' excludes everything: %s",
			event->name,
			privilege ? "exclude_user, exclude_kernel and exclude_hv are all set"
				  : "exclude_host and exclude_guest are both set");
	perch_error_field(err, privilege ? "exclude_user" : "exclude_host", NULL);
	perch_error_remedy(err, "remove the modifier, or the exclude_* option that contradicts it");
	return -EINVAL;
}

/*
 * Returns the smallest version of the attr that has all fields that are set, because older kernels
 * refuse larger ones. Each version adds one 64-bit word, except VER3, which adds two.
 */
static uint32_t size_of(const struct perch_attr *attr)
{
	uint64_t words[sizeof(*attr) / sizeof(uint64_t)];
	size_t used = PERCH__NR(words);

	memcpy(words, attr, sizeof(words));
	while (used > PERCH_ATTR_SIZE_VER0 / sizeof(*words) && !words[used - 1])
		used--;
	used *= sizeof(*words);
	return used > PERCH_ATTR_SIZE_VER2 && used < PERCH_ATTR_SIZE_VER3 ? PERCH_ATTR_SIZE_VER3
									  : used;
}
_Static_assert(sizeof(struct perch_attr) == PERCH_ATTR_SIZE_VER9,
	       "size_of() covers the versions up to this one");

/* Refuses fields of the event's attr that the options would overwrite. */
static int check_event_attr(const struct perch_event *event, struct perch_error *err)
{
	struct perch_attr_part part[PERCH_ATTR_PARTS_MAX];
	struct perch_attr rest = event->attr;
	unsigned char any = 0;

	rest.type = rest.size = 0;
	rest.config = rest.config1 = rest.config2 = rest.config3 = rest.config4 = 0;
	rest.sample_period = rest.freq = rest.bp_type = 0;
	rest.exclude_user = rest.exclude_kernel = rest.exclude_hv = rest.exclude_idle = 0;
	rest.exclude_host = rest.exclude_guest = 0;
	rest.precise_ip = rest.pinned = rest.exclusive = 0;
	for (size_t i = 0; i < sizeof(rest); i++)
		any |= ((const unsigned char *)&rest)[i];
	if (!any || !perch_attr_split(&rest, part, PERCH__NR(part)))
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			"the attr of '%s' has %s, which the options set", event->name,
			part[0].field->name);
	perch_error_field(err, part[0].field->name, NULL);
	perch_error_remedy(err, "set it in struct perch_options");
	return -EINVAL;
}

int perch_attr_build(struct perch_attr *attr, const struct perch_event *event,
		     const struct perch_options *options, struct perch_error *err)
{
	static const struct perch_options defaults = {
		.read = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct perch_options wanted = options ? *options : defaults;
	int rc;

	options = &wanted;
	rc = check_event_attr(event, err);
	if (!rc)
		rc = perch__options_from_terms(&wanted, event, err);
	if (!rc)
		rc = perch__check_options(&wanted, event, err);
	if (rc)
		return rc;
	*attr = event->attr;
	attr->freq = 0;
	attr->sample_period = 0;
	attr->read_format = options->read;
	set_sampling(attr, options);
	set_sideband(attr, options->sideband);
	set_scope(attr, options);
	if (event->precise_max)
		set_precise_max(attr, options);
	if (options->self_monitoring)
		attr->config1 |= perch__rdpmc_bit(attr, options->machine);
	rc = check_exclusions(attr, event, err);
	if (rc)
		return rc;
	attr->size = 0;
	attr->size = size_of(attr);
	return 0;
}
