/* SPDX-License-Identifier: MIT */
/*
 * The functions of the kernel in its sections .sched.text and .spinlock.text. perf(1) finds them by
 * the addresses where these sections begin and end. Names also do for the recording of another
 * kernel, whose /proc/kallsyms is not there.
 */
#include <string.h>

#include "lock.h"

/* Names; those with '*' may go on. The compiler appends what begins with a dot (__up.isra.0). */
static const char *const kernel_names[] = {
	"__cond_resched",
	"__down",
	"__down_common",
	"__down_interruptible",
	"__down_killable",
	"__down_timeout",
	"__mutex_lock*",
	"__mutex_unlock_slowpath",
	"__percpu_down_read",
	"__pv_queued_spin_lock_slowpath",
	"__pv_queued_spin_unlock*",
	"__raw_callee_save___pv_queued_spin_unlock*",
	"__rt_mutex_futex_trylock",
	"__rt_mutex_futex_unlock",
	"__rt_mutex_init",
	"__rt_mutex_start_proxy_lock",
	"__schedule",
	"__up",
	"__wait_for_common",
	"__wait_on_bit",
	"__wait_on_bit_lock",
	"__ww_mutex_lock*",
	"_raw_read_lock*",
	"_raw_read_trylock*",
	"_raw_read_unlock*",
	"_raw_spin_lock*",
	"_raw_spin_trylock*",
	"_raw_spin_unlock*",
	"_raw_write_lock*",
	"_raw_write_trylock*",
	"_raw_write_unlock*",
	"bit_wait",
	"bit_wait_io",
	"bit_wait_timeout",
	"console_conditional_schedule",
	"do_nanosleep",
	"down",
	"down_interruptible",
	"down_killable",
	"down_read",
	"down_read_interruptible",
	"down_read_killable",
	"down_timeout",
	"down_trylock",
	"down_write",
	"down_write_killable",
	"hrtimer_nanosleep_restart",
	"io_schedule",
	"io_schedule_timeout",
	"ldsem_down_read",
	"ldsem_down_write",
	"mark_wakeup_next_waiter",
	"mutex_lock*",
	"mutex_trylock",
	"mutex_unlock",
	"native_queued_spin_lock_slowpath",
	"out_of_line_wait_on_bit",
	"out_of_line_wait_on_bit_lock",
	"out_of_line_wait_on_bit_timeout",
	"percpu_down_write",
	"preempt_schedule",
	"preempt_schedule_irq",
	"preempt_schedule_notrace",
	"queued_read_lock_slowpath",
	"queued_write_lock_slowpath",
	"remove_waiter",
	"resilient_queued_spin_lock_slowpath",
	"resilient_tas_spin_lock",
	"rt_mutex_adjust_pi",
	"rt_mutex_adjust_prio_chain",
	"rt_mutex_cleanup_proxy_lock",
	"rt_mutex_futex_trylock",
	"rt_mutex_futex_unlock",
	"rt_mutex_init_proxy_locked",
	"rt_mutex_lock*",
	"rt_mutex_postunlock",
	"rt_mutex_proxy_unlock",
	"rt_mutex_slowlock*",
	"rt_mutex_start_proxy_lock",
	"rt_mutex_trylock",
	"rt_mutex_unlock",
	"rt_mutex_wait_proxy_lock",
	"rt_read_lock*",
	"rt_spin_lock*",
	"rt_spin_unlock*",
	"rt_write_lock*",
	"rtlock_slowlock*",
	"rwsem_down_read_slowpath",
	"rwsem_down_write_slowpath",
	"schedule",
	"schedule_hrtimeout",
	"schedule_hrtimeout_range",
	"schedule_hrtimeout_range_clock",
	"schedule_idle",
	"schedule_preempt_disabled",
	"schedule_timeout",
	"schedule_timeout_idle",
	"schedule_timeout_interruptible",
	"schedule_timeout_killable",
	"schedule_timeout_uninterruptible",
	"task_blocks_on_rt_mutex",
	"try_to_take_rt_mutex",
	"up",
	"usleep_range_state",
	"wait_for_completion*",
	"ww_mutex_lock*",
	"ww_mutex_unlock",
	"yield",
	"yield_to",
};

/* Those on the way from the end of a lock to the wakeup. */
static const char *const wake_names[] = {
	"__percpu_up_read",
	"__rwsem_mark_wake",
	"__swake_up_locked",
	"__up_read",
	"__up_write",
	"__wake_up*",
	"autoremove_wake_function",
	"complete*",
	"default_wake_function",
	"percpu_rwsem_wake_function",
	"percpu_up_write",
	"rt_mutex_slowunlock",
	"rwsem_wake",
	"swake_up*",
	"try_to_wake_up",
	"ttwu_*",
	"up_read",
	"up_write",
	"wake_up_process",
	"wake_up_q",
	"wake_up_state",
};

/* Libraries whose functions wait by futex(2) for others. */
static const char *const libraries[] = {
	"libc.", "libc-", "libpthread", "ld-", "libstdc++.", "libc++.", "libgcc_s.", "[vdso]",
};

static bool is_of(const char *name, const char *own)
{
	size_t length = strcspn(own, "*");

	return !strncmp(name, own, length) &&
	       (own[length] == '*' || !name[length] || name[length] == '.');
}

static bool is_in(const char *name, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_of(name, names[i]))
			return true;
	return false;
}

bool lock_is_kernel_function(const char *name)
{
	return is_in(name, kernel_names, CLI_NR(kernel_names));
}

bool lock_is_wake_function(const char *name)
{
	return is_in(name, wake_names, CLI_NR(wake_names));
}

bool lock_is_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < CLI_NR(libraries); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}
