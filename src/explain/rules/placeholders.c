/* SPDX-License-Identifier: MIT */
/*
 * Writes the values of {placeholders} in messages and remedies. The text of an unknown fact is
 * empty.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "machine/sandbox.h"
#include "predicates.h"

/* " (currently 2)", empty if unknown. */
static void current_value(const struct perch__case *c, enum perch_sysctl which, char *buffer,
			  size_t size)
{
	long value;

	if (perch__sysctl(c, which, &value))
		snprintf(buffer, size, " (currently %ld)", value);
}

/* Explains why capabilities do not help. */
static void in_user_namespace(const struct perch__case *c, char *buffer, size_t size)
{
	if (perch__namespace_capabilities(c) == PERCH__YES)
		snprintf(buffer, size, ", and capabilities in a user namespace do not count");
}

static void paranoid(const struct perch__case *c, char *buffer, size_t size)
{
	long value;

	if (!perch__sysctl(c, PERCH_SYSCTL_PARANOID, &value))
		return;
	if (perch__namespace_capabilities(c) == PERCH__YES)
		snprintf(buffer, size,
			 " (currently %ld; root in a user namespace is an unprivileged user here)",
			 value);
	else
		snprintf(buffer, size, " (currently %ld)", value);
}

/* The value alone, for remedies. */
static void limit_value(const struct perch__case *c, enum perch_sysctl which, char *buffer,
			size_t size)
{
	long value;

	if (perch__sysctl(c, which, &value))
		snprintf(buffer, size, "%ld", value);
	else
		snprintf(buffer, size, "%s", perch_sysctl_name(which));
}

static void pmu_of_type(const struct perch__case *c, uint32_t type, uint64_t config, char *buffer,
			size_t size)
{
	static const char *const own[] = { "hardware", "software", "tracepoint",
					   "cache",    "raw",	   "breakpoint" };
	struct perch__case other = *c;
	const struct perch_pmu *pmu;
	bool is_known;

	other.attr.type = type;
	other.attr.config = config;
	pmu = type == PERCH_TYPE_HARDWARE || type == PERCH_TYPE_HW_CACHE || type == PERCH_TYPE_RAW
		      ? perch__counting_pmu(&other)
		      : perch__pmu_of_case(&other, &is_known);
	if (pmu)
		snprintf(buffer, size, "%s", pmu->name);
	else if (type < PERCH_TYPE_MAX)
		snprintf(buffer, size, "%s", own[type]);
	else
		snprintf(buffer, size, "of type %" PRIu32, type);
}

static void container(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_sandbox *sandbox =
		c->call->own_filters ? NULL : perch__sandbox(c->machine, PERCH__SANDBOX_CONTAINER);

	if (sandbox && sandbox->container[0])
		snprintf(buffer, size, "this is a container (%s): ", sandbox->container);
}

/*
 * How to allow perf_event_open in a sandbox. The profiles of Docker and Podman allow it with
 * CAP_SYS_ADMIN, newer ones also with CAP_PERFMON.
 */
static void allow_syscall(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_sandbox *sandbox = perch__sandbox(c->machine, PERCH__SANDBOX_CONTAINER);
	const char *container = sandbox ? sandbox->container : "";
	const char *text;

	if (c->call->own_filters)
		text = "allow perf_event_open in the filter that the program installs, or open the "
		       "event before it";
	else if (strstr(container, "kube"))
		text = "set seccompProfile.type in the pod's securityContext to Unconfined, or to "
		       "a profile that allows perf_event_open";
	else if (c->machine && !container[0])
		text = "allow perf_event_open where the filter is set: a sandbox, systemd's "
		       "SystemCallFilter=, or a container runtime (--security-opt "
		       "seccomp=unconfined)";
	else if (c->machine && perch__unprivileged(c) == PERCH__NO)
		text = "the profile does not check capabilities, which this process has: start the "
		       "container with --security-opt seccomp=unconfined, or with a profile that "
		       "allows perf_event_open";
	else
		text = "start the container with --cap-add PERFMON and a seccomp profile that then "
		       "allows perf_event_open, or with --security-opt seccomp=unconfined";
	snprintf(buffer, size, "%s", text);
}

/* Whether the kernel has the PMU kprobe. */
static enum perch__match has_kprobes(const struct perch__case *c)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (!c->machine || perch_machine_pmus(c->machine, &pmus, &nr, NULL) || !nr)
		return PERCH__UNKNOWN;
	return perch__yes_if(perch_machine_pmu(c->machine, "kprobe"));
}

/* Part of a remedy: "use a kprobe or tracepoint". */
static void kprobe_or(const struct perch__case *c, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s", has_kprobes(c) == PERCH__NO ? "" : "kprobe or a ");
}

static void without_kprobes(const struct perch__case *c, char *buffer, size_t size)
{
	static const char *const texts[] = {
		[PERCH__NO] = ": it has no kprobes, and without them it allows none",
		[PERCH__UNKNOWN] = " (kernels without kprobes allow none)",
		[PERCH__YES] = "",
	};

	snprintf(buffer, size, "%s", texts[has_kprobes(c)]);
}

/*
 * The sysctl is an int, and the kernel refuses to change it while perf_cpu_time_max_percent
 * switches the lowering of the rate off.
 */
void perch__write_or_raise_rate(const struct perch__case *c, uint64_t rate, char *buffer,
				size_t size)
{
	const char *enable = "";
	char text[8];

	if (rate > INT_MAX) {
		snprintf(buffer, size, ": the sysctl can be at most %d", INT_MAX);
		return;
	}
	if (c->machine &&
	    perch_machine_read(c->machine, "/proc/sys/kernel/perf_cpu_time_max_percent", text,
			       sizeof(text)) > 0 &&
	    (!strcmp(text, "0") || !strcmp(text, "100")))
		enable = "kernel.perf_cpu_time_max_percent=25 ";
	snprintf(buffer, size,
		 ", or as root: sysctl %skernel.perf_event_max_sample_rate=%" PRIu64
		 " (the kernel lowers it when sampling takes too long)",
		 enable, rate);
}

/* Part of a remedy, empty if the event may occur only in the kernel. */
static void user_space_or(const struct perch__case *c, char *buffer, size_t size)
{
	if (COUNTS_USER_SPACE)
		snprintf(buffer, size, "measure only user space (:u, exclude_kernel), or ");
}

static void descriptor_limit(const struct perch__case *c, char *buffer, size_t size)
{
	struct perch_limits limits;
	size_t nr;

	if (!c->machine || perch_machine_limits(c->machine, &limits, NULL))
		return;
	if (perch_machine_open_descriptors(c->machine, &nr, NULL))
		snprintf(buffer, size, " (currently %" PRIu64 ")", limits.descriptors);
	else
		snprintf(buffer, size, " (currently %" PRIu64 ", %zu open)", limits.descriptors,
			 nr);
}

static void raise_descriptors(const struct perch__case *c, char *buffer, size_t size)
{
	struct perch_limits limits;

	if (!c->machine || perch_machine_limits(c->machine, &limits, NULL))
		snprintf(buffer, size, "raise the limit (ulimit -n)");
	else if (limits.descriptors < limits.descriptors_hard)
		snprintf(buffer, size, "raise the limit (ulimit -n %" PRIu64 ")",
			 limits.descriptors_hard);
	else
		snprintf(buffer, size,
			 "raise RLIMIT_NOFILE as root (the soft limit is at the hard limit)");
}

static void files(const struct perch__case *c, char *buffer, size_t size)
{
	uint64_t nr, limit;

	if (c->machine && !perch_machine_open_files(c->machine, &nr, &limit, NULL))
		snprintf(buffer, size, " (fs.file-max is currently %" PRIu64 ", %" PRIu64 " open)",
			 limit, nr);
}

static void this_release(const struct perch__case *c, char *buffer, size_t size)
{
	struct perch_release release;

	if (c->machine && !perch_machine_release(c->machine, &release, NULL))
		snprintf(buffer, size, " (this is %.64s)", release.text);
}

/* The text, unless the kernel is known to be of that release or newer. */
static void unless_since(const struct perch__case *c, const char *release, const char *text,
			 char *buffer, size_t size)
{
	if (perch__older_than(c, release) != PERCH__NO)
		snprintf(buffer, size, "%s", text);
}

static void or_unprivileged(const struct perch__case *c, char *buffer, size_t size)
{
	if (perch__unprivileged(c) != PERCH__NO)
		snprintf(buffer, size, ", or this process lacks CAP_PERFMON");
}

static void virtual(const struct perch__case *c, char *buffer, size_t size)
{
	if (c->machine && perch_machine_virtual(c->machine) == 1)
		snprintf(buffer, size, " (this is a virtual machine: its host provides the PMU)");
}

static void no_debug_exceptions(const struct perch__case *c, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s",
		 c->machine && perch_machine_virtual(c->machine) == 1
			 ? "the hypervisor does not pass debug exceptions on"
			 : "the CPU raises no debug exception");
}

static void event_kind_without_branches(const struct perch__case *c, char *buffer, size_t size)
{
	char name[64];

	if (SOFTWARE || TRACEPOINT || BREAKPOINT) {
		snprintf(buffer, size, "%s",
			 SOFTWARE     ? "software events"
			 : TRACEPOINT ? "tracepoints"
				      : "breakpoints");
		return;
	}
	pmu_of_type(c, c->attr.type, c->attr.config, name, sizeof(name));
	snprintf(buffer, size, "events of the PMU %s", name);
}

static void excludes(const struct perch__case *c, char *buffer, size_t size)
{
	const struct {
		const char *name;
		bool set;
	} bits[] = {
		{ "exclude_user", c->attr.exclude_user },
		{ "exclude_kernel", c->attr.exclude_kernel },
		{ "exclude_hv", c->attr.exclude_hv },
		{ "exclude_idle", c->attr.exclude_idle },
		{ "exclude_host", c->attr.exclude_host },
		{ "exclude_guest", c->attr.exclude_guest },
	};
	size_t used = 0, nr = 0;

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (bits[i].set && used < size)
			used += snprintf(buffer + used, size - used, "%s%s", nr++ ? ", " : "",
					 bits[i].name);
	if (used < size)
		snprintf(buffer + used, size - used, nr == 1 ? " is" : " are");
}

static void max_precise(const struct perch__case *c, char *buffer, size_t size)
{
	struct perch__case most = *c;

	most.attr.precise_ip = 3;
	if (perch__above_max_precise(c) == PERCH__YES)
		snprintf(buffer, size, " (at most %u)", perch__highest_precise(&most));
}

static void clock_name(const struct perch__case *c, char *buffer, size_t size)
{
	if (c->attr.clockid == CLOCK_REALTIME || c->attr.clockid == CLOCK_BOOTTIME ||
	    c->attr.clockid == CLOCK_TAI)
		snprintf(buffer, size, "CLOCK_%s",
			 c->attr.clockid == CLOCK_REALTIME ? "REALTIME"
			 : c->attr.clockid == CLOCK_TAI	   ? "TAI"
							   : "BOOTTIME");
	else
		snprintf(buffer, size, "clockid %d", c->attr.clockid);
}

static void builtin(const struct perch__case *c, char *buffer, size_t size)
{
	snprintf(buffer, size, TRACEPOINT ? "tracepoints for perf" : "hardware breakpoints");
}

static void yama(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_sandbox *sandbox = perch__sandbox(c->machine, PERCH__SANDBOX_YAMA);

	if (sandbox && sandbox->yama > 0)
		snprintf(buffer, size, " (kernel.yama.ptrace_scope is %d)", sandbox->yama);
}

static void owner(const struct perch__case *c, char *buffer, size_t size)
{
	struct perch_process_state state;

	if (c->machine && c->pid > 0 &&
	    !perch_machine_process_cached(c->machine, c->pid, &state, NULL))
		snprintf(buffer, size, " (%.15s, uid %" PRIu32 ")", state.name, state.uid);
}

static void group_size(const struct perch__case *c, char *buffer, size_t size)
{
	if (LEADER && LEADER->members)
		snprintf(buffer, size, " (%zu events)", LEADER->members + 1);
}

static void leader_pmu(const struct perch__case *c, char *buffer, size_t size)
{
	if (LEADER_IS(true))
		pmu_of_type(c, LEADER->attr->type, LEADER->attr->config, buffer, size);
}

static void leader_cgroup(const struct perch__case *c, char *buffer, size_t size)
{
	if (LEADER && LEADER->flags & PERCH_FLAG_PID_CGROUP)
		perch__write_descriptor(c, LEADER->pid, buffer, size);
	else
		snprintf(buffer, size, "no cgroup");
}

static void watchdog(const struct perch__case *c, char *buffer, size_t size)
{
	long value;

	if (perch__sysctl(c, PERCH_SYSCTL_NMI_WATCHDOG, &value) && value > 0)
		snprintf(buffer, size,
			 " (the NMI watchdog uses one: sysctl kernel.nmi_watchdog=0)");
}

/* Placeholders that are a number, X(name, format, expression). */
#define D   "%lld"
#define U   "%llu"
#define HEX "0x%llx"
/* clang-format off */
#define NUMBERS(X)                                                                               \
	X(pid, D, c->pid)                                                                        \
	X(cpu, D, c->cpu)                                                                        \
	X(group_fd, D, c->group_fd)                                                              \
	X(type, D, c->attr.type)                                                                 \
	X(size, U, c->size)                                                                      \
	X(precise, U, c->attr.precise_ip)                                                        \
	X(frequency, U, c->attr.sample_freq)                                                     \
	X(period, U, c->attr.sample_period)                                                      \
	X(id, U, c->attr.config)                                                                 \
	X(inherit, D, c->attr.inherit)                                                           \
	X(use_clockid, D, c->attr.use_clockid)                                                   \
	X(backward, D, c->attr.write_backward)                                                   \
	X(leader_inherit, D, LEADER_IS(LEADER->attr->inherit))                                   \
	X(leader_use_clockid, D, LEADER_IS(LEADER->attr->use_clockid))                           \
	X(leader_clockid, D, LEADER && LEADER->attr ? LEADER->attr->clockid : 0)                 \
	X(leader_cpu, D, LEADER ? LEADER->cpu : 0)                                               \
	X(leader_pid, D, LEADER ? LEADER->pid : 0)                                               \
	X(refuse_all_level, D, perch__refuse_all_level(c) < 0 ? 2 : perch__refuse_all_level(c))  \
	X(cpu_level, D, c->pid == -1 || TARGETS_CGROUP ? 0 : 1)                                  \
	X(kernel_level, D, KERNEL_LEVEL)                                                         \
	X(config, HEX, c->attr.config)                                                           \
	X(flags, HEX, c->flags)                                                                  \
	X(bp_aligned, HEX, c->attr.bp_addr & ~(c->attr.bp_len - 1))                              \
	X(sample_bits, HEX, c->attr.sample_type & ~(uint64_t)(PERCH_SAMPLE_MAX - 1))             \
	X(read_bits, HEX, c->attr.read_format & ~(uint64_t)(PERCH_FORMAT_MAX - 1))               \
	X(reserved_2, HEX, c->attr.reserved_2)                                                   \
	X(branch_bits, HEX, c->attr.branch_sample_type & ~(uint64_t)(PERCH_SAMPLE_BRANCH_MAX - 1))
/* clang-format on */

/* Fields that a log may omit, X(name, format, field). */
/* clang-format off */
#define FIELDS(X)                                                                                \
	X(stack, U, sample_stack_user)                                                           \
	X(depth, U, sample_max_stack)                                                            \
	X(clockid, D, clockid)                                                                   \
	X(bp_type, U, bp_type)                                                                   \
	X(bp_len, U, bp_len)                                                                     \
	X(config1, HEX, config1)                                                                 \
	X(config2, HEX, config2)                                                                 \
	X(bp_addr, HEX, bp_addr)                                                                 \
	X(regs_user, HEX, sample_regs_user)                                                      \
	X(regs_intr, HEX, sample_regs_intr)
/* clang-format on */

/* Other placeholders, X(name, statement that writes it). */
/* clang-format off */
#define TEXTS(X)                                                                                 \
	X(paranoid, paranoid(c, buffer, size))                                                   \
	X(paranoid_level, current_value(c, PERCH_SYSCTL_PARANOID, buffer, size))                 \
	X(in_user_namespace, in_user_namespace(c, buffer, size))                                 \
	X(max_rate, current_value(c, PERCH_SYSCTL_MAX_SAMPLE_RATE, buffer, size))                \
	X(max_stack, current_value(c, PERCH_SYSCTL_MAX_STACK, buffer, size))                     \
	X(rate_limit, limit_value(c, PERCH_SYSCTL_MAX_SAMPLE_RATE, buffer, size))        \
	X(stack_limit, limit_value(c, PERCH_SYSCTL_MAX_STACK, buffer, size))             \
	X(pmu, pmu_of_type(c, c->attr.type, c->attr.config, buffer, size))                       \
	X(null_config1, snprintf(buffer, size, OMITTED(config1) ? "not in the log" : "NULL"))    \
	X(extended, pmu_of_type(c, c->attr.config >> 32, 0, buffer, size))                       \
	X(leader_pmu, leader_pmu(c, buffer, size))                                               \
	X(pid_name, snprintf(buffer, size, c->call->pid_is_cgroup_fd ? "cgroup_fd" : "pid"))     \
	X(builtin, builtin(c, buffer, size))                                                     \
	X(slots, snprintf(buffer, size, "%s", X86 ? " (x86 has 4)" : ""))                        \
	X(path, perch__write_path(c, buffer, size))                                              \
	X(container, container(c, buffer, size))                                                 \
	X(allow_syscall, allow_syscall(c, buffer, size))                                 \
	X(descriptors, descriptor_limit(c, buffer, size))                                        \
	X(own_filter,                                                                            \
	  snprintf(buffer, size, "%s",                                                           \
		   c->call->own_filters ? ", which the program has installed itself," : ""))     \
	X(before_cgroup,                                                                         \
	  snprintf(buffer, size, "%s",                                                           \
		   TARGETS_CGROUP ? " (the kernel checks it before the cgroup)" : ""))         \
	X(after_group,                                                                           \
	  snprintf(buffer, size, "%s", IN_GROUP && !LEADER ? " (the kernel checks group_fd before)" : "")) \
	X(or_raise_rate,                                                                         \
	  perch__write_or_raise_rate(c, c->attr.sample_freq, buffer, size))                      \
	X(user_space_or, user_space_or(c, buffer, size))                                         \
	X(kprobe_or, kprobe_or(c, buffer, size))                                                 \
	X(without_kprobes, without_kprobes(c, buffer, size))                                     \
	X(files, files(c, buffer, size))                                                         \
	X(raise_descriptors, raise_descriptors(c, buffer, size))                                 \
	X(virtual, virtual(c, buffer, size))                                                     \
	X(no_debug_exceptions, no_debug_exceptions(c, buffer, size))                             \
	X(or_unprivileged, or_unprivileged(c, buffer, size))                             \
	X(this_release, this_release(c, buffer, size))                                           \
	X(event_kind_without_branches, event_kind_without_branches(c, buffer, size))             \
	X(excludes, excludes(c, buffer, size))                                                   \
	X(max_precise, max_precise(c, buffer, size))                                             \
	X(clock, clock_name(c, buffer, size))                                                    \
	X(yama, yama(c, buffer, size))                                                           \
	X(owner, owner(c, buffer, size))                                                         \
	X(group_size, group_size(c, buffer, size))                                               \
	X(watchdog, watchdog(c, buffer, size))                                                   \
	X(cpus, perch__write_present_cpus(c, buffer, size))                                      \
	X(online, perch__write_online_cpus(c, buffer, size))                                     \
	X(pmu_cpus, perch__write_pmu_cpus(c, buffer, size))                                      \
	X(types, perch__write_pmu_types(c, buffer, size))                                        \
	X(pmu_events, perch__write_pmu_events(c, buffer, size))                                  \
	X(since_7_3,                                                                             \
	  unless_since(c, "7.3", " (since Linux 7.3, and in older kernels with that fix)",       \
		       buffer, size))                                                            \
	X(since_6_16,                                                                            \
	  unless_since(c, "6.16", " (since Linux 6.16, and in stable releases of 2025)", buffer, \
		       size))                                                                    \
	X(since_6_17, unless_since(c, "6.17", " (since Linux 6.17)", buffer, size))              \
	X(since_6_17_stable,                                                                     \
	  unless_since(c, "6.17", " (since Linux 6.17, and in stable releases of 2025)", buffer, \
		       size))                                                                    \
	X(and_6_12, unless_since(c, "6.12", ", and Linux 6.12", buffer, size))                   \
	X(reserved_1_bits, perch__write_bits(c->attr.reserved_1, 40, buffer, size))              \
	X(reserved_2_bits, perch__write_bits(c->attr.reserved_2, 0, buffer, size))               \
	X(reserved_3_bits, perch__write_bits(c->attr.reserved_3, 3, buffer, size))               \
	X(cgroup, perch__write_descriptor(c, c->pid, buffer, size))                              \
	X(leader_cgroup, leader_cgroup(c, buffer, size))                                         \
	X(cgroup_owner, perch__write_cgroup_owner(c, buffer, size))                              \
	X(use_cgroup, perch__write_use_cgroup(c, buffer, size))                                  \
	X(cgroups, perch__write_cgroup_mount(c, buffer, size))
/* clang-format on */

#define NUMBER_FUNCTION(name, format, expression)                                        \
	static void write_##name(const struct perch__case *c, char *buffer, size_t size) \
	{                                                                                \
		snprintf(buffer, size, format, (long long)(expression));                 \
	}
#define FIELD_FUNCTION(name, format, field)                                              \
	static void write_##name(const struct perch__case *c, char *buffer, size_t size) \
	{                                                                                \
		if (OMITTED(field))                                                      \
			snprintf(buffer, size, "(not in the log)");                      \
		else                                                                     \
			snprintf(buffer, size, format, (long long)c->attr.field);        \
	}
#define TEXT_FUNCTION(name, call)                                                        \
	static void write_##name(const struct perch__case *c, char *buffer, size_t size) \
	{                                                                                \
		(void)c;                                                                 \
		call;                                                                    \
	}
NUMBERS(NUMBER_FUNCTION)
FIELDS(FIELD_FUNCTION)
TEXTS(TEXT_FUNCTION)

bool perch__placeholder(const struct perch__case *c, const char *name, size_t length, char *buffer,
			size_t size)
{
/* clang-format off */
#define NUMBER_ROW(name, format, expression) { #name, sizeof(#name) - 1, write_##name },
#define TEXT_ROW(name, call) { #name, sizeof(#name) - 1, write_##name },
	/* clang-format on */
	static const struct {
		const char *name;
		size_t length;
		void (*write)(const struct perch__case *c, char *buffer, size_t size);
	} placeholders[] = { NUMBERS(NUMBER_ROW) FIELDS(NUMBER_ROW) TEXTS(TEXT_ROW) };

	for (size_t i = 0; i < sizeof(placeholders) / sizeof(*placeholders); i++) {
		if (placeholders[i].length != length || memcmp(placeholders[i].name, name, length))
			continue;
		buffer[0] = '\0';
		placeholders[i].write(c, buffer, size);
		return true;
	}
	return false;
}
