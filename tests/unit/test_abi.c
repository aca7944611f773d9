/* SPDX-License-Identifier: MIT */
/* The constants and structs of perch/abi.h against the header of the system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <perch/abi.h>

#define NR(array) (sizeof(array) / sizeof((array)[0]))

/* Pairs are compared at run time: a failure then has the name of the constant. */
struct pair {
	const char *name;
	uint64_t ours, theirs;
};

/* clang-format off */
#define P(name) { #name, (uint64_t)(PERCH_##name), (uint64_t)(PERF_##name) }
#define Q(name, kernels) { #name, (uint64_t)(PERCH_##name), (uint64_t)(kernels) }
#define IOC(name) { "IOC_" #name, PERCH_IOC_##name, PERF_EVENT_IOC_##name }
#define MISC(name) { "MISC_" #name, PERCH_MISC_##name, PERF_RECORD_MISC_##name }
/* clang-format on */

static void compare(const struct pair *pairs, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (pairs[i].ours != pairs[i].theirs)
			fail_msg("%s: %#llx, the system's header has %#llx", pairs[i].name,
				 (unsigned long long)pairs[i].ours,
				 (unsigned long long)pairs[i].theirs);
}

static void event_constants_match(void **state)
{
	static const struct pair pairs[] = {
		P(TYPE_HARDWARE),
		P(TYPE_SOFTWARE),
		P(TYPE_TRACEPOINT),
		P(TYPE_HW_CACHE),
		P(TYPE_RAW),
		P(TYPE_BREAKPOINT),
		P(TYPE_MAX),
		P(PMU_TYPE_SHIFT),
		P(HW_EVENT_MASK),
		P(COUNT_HW_CPU_CYCLES),
		P(COUNT_HW_INSTRUCTIONS),
		P(COUNT_HW_CACHE_REFERENCES),
		P(COUNT_HW_CACHE_MISSES),
		P(COUNT_HW_BRANCH_INSTRUCTIONS),
		P(COUNT_HW_BRANCH_MISSES),
		P(COUNT_HW_BUS_CYCLES),
		P(COUNT_HW_STALLED_CYCLES_FRONTEND),
		P(COUNT_HW_STALLED_CYCLES_BACKEND),
		P(COUNT_HW_REF_CPU_CYCLES),
		P(COUNT_HW_MAX),
		P(COUNT_HW_CACHE_L1D),
		P(COUNT_HW_CACHE_L1I),
		P(COUNT_HW_CACHE_LL),
		P(COUNT_HW_CACHE_DTLB),
		P(COUNT_HW_CACHE_ITLB),
		P(COUNT_HW_CACHE_BPU),
		P(COUNT_HW_CACHE_NODE),
		P(COUNT_HW_CACHE_MAX),
		P(COUNT_HW_CACHE_OP_READ),
		P(COUNT_HW_CACHE_OP_WRITE),
		P(COUNT_HW_CACHE_OP_PREFETCH),
		P(COUNT_HW_CACHE_OP_MAX),
		P(COUNT_HW_CACHE_RESULT_ACCESS),
		P(COUNT_HW_CACHE_RESULT_MISS),
		P(COUNT_HW_CACHE_RESULT_MAX),
		P(COUNT_SW_CPU_CLOCK),
		P(COUNT_SW_TASK_CLOCK),
		P(COUNT_SW_PAGE_FAULTS),
		P(COUNT_SW_CONTEXT_SWITCHES),
		P(COUNT_SW_CPU_MIGRATIONS),
		P(COUNT_SW_PAGE_FAULTS_MIN),
		P(COUNT_SW_PAGE_FAULTS_MAJ),
		P(COUNT_SW_ALIGNMENT_FAULTS),
		P(COUNT_SW_EMULATION_FAULTS),
		P(COUNT_SW_DUMMY),
		P(COUNT_SW_BPF_OUTPUT),
		P(COUNT_SW_CGROUP_SWITCHES),
		P(COUNT_SW_MAX),
		Q(BREAKPOINT_EMPTY, HW_BREAKPOINT_EMPTY),
		Q(BREAKPOINT_R, HW_BREAKPOINT_R),
		Q(BREAKPOINT_W, HW_BREAKPOINT_W),
		Q(BREAKPOINT_RW, HW_BREAKPOINT_RW),
		Q(BREAKPOINT_X, HW_BREAKPOINT_X),
	};

	(void)state;
	compare(pairs, NR(pairs));
}

static void sample_constants_match(void **state)
{
	static const struct pair pairs[] = {
		P(SAMPLE_IP),
		P(SAMPLE_TID),
		P(SAMPLE_TIME),
		P(SAMPLE_ADDR),
		P(SAMPLE_READ),
		P(SAMPLE_CALLCHAIN),
		P(SAMPLE_ID),
		P(SAMPLE_CPU),
		P(SAMPLE_PERIOD),
		P(SAMPLE_STREAM_ID),
		P(SAMPLE_RAW),
		P(SAMPLE_BRANCH_STACK),
		P(SAMPLE_REGS_USER),
		P(SAMPLE_STACK_USER),
		P(SAMPLE_WEIGHT),
		P(SAMPLE_DATA_SRC),
		P(SAMPLE_IDENTIFIER),
		P(SAMPLE_TRANSACTION),
		P(SAMPLE_REGS_INTR),
		P(SAMPLE_PHYS_ADDR),
		P(SAMPLE_AUX),
		P(SAMPLE_CGROUP),
		P(SAMPLE_DATA_PAGE_SIZE),
		P(SAMPLE_CODE_PAGE_SIZE),
		P(SAMPLE_WEIGHT_STRUCT),
		P(SAMPLE_MAX),
		P(SAMPLE_WEIGHT_TYPE),
		P(SAMPLE_REGS_ABI_NONE),
		P(SAMPLE_REGS_ABI_32),
		P(SAMPLE_REGS_ABI_64),
		P(FORMAT_TOTAL_TIME_ENABLED),
		P(FORMAT_TOTAL_TIME_RUNNING),
		P(FORMAT_ID),
		P(FORMAT_GROUP),
		P(FORMAT_LOST),
		P(FORMAT_MAX),
		P(TXN_ELISION),
		P(TXN_TRANSACTION),
		P(TXN_SYNC),
		P(TXN_ASYNC),
		P(TXN_RETRY),
		P(TXN_CONFLICT),
		P(TXN_CAPACITY_WRITE),
		P(TXN_CAPACITY_READ),
		P(TXN_MAX),
		P(TXN_ABORT_MASK),
		P(TXN_ABORT_SHIFT),
	};

	(void)state;
	compare(pairs, NR(pairs));
}

static void branch_constants_match(void **state)
{
#define BRANCH(name) P(SAMPLE_BRANCH_##name), P(SAMPLE_BRANCH_##name##_SHIFT)
	static const struct pair pairs[] = {
		BRANCH(USER),
		BRANCH(KERNEL),
		BRANCH(HV),
		BRANCH(ANY),
		BRANCH(ANY_CALL),
		BRANCH(ANY_RETURN),
		BRANCH(IND_CALL),
		BRANCH(ABORT_TX),
		BRANCH(IN_TX),
		BRANCH(NO_TX),
		BRANCH(COND),
		BRANCH(CALL_STACK),
		BRANCH(IND_JUMP),
		BRANCH(CALL),
		BRANCH(NO_FLAGS),
		BRANCH(NO_CYCLES),
		BRANCH(TYPE_SAVE),
		BRANCH(HW_INDEX),
		BRANCH(PRIV_SAVE),
		P(SAMPLE_BRANCH_PLM_ALL),
		P(BR_UNKNOWN),
		P(BR_COND),
		P(BR_UNCOND),
		P(BR_IND),
		P(BR_CALL),
		P(BR_IND_CALL),
		P(BR_RET),
		P(BR_SYSCALL),
		P(BR_SYSRET),
		P(BR_COND_CALL),
		P(BR_COND_RET),
		P(BR_ERET),
		P(BR_IRQ),
		P(BR_SERROR),
		P(BR_NO_TX),
		P(BR_EXTEND_ABI),
		P(BR_MAX),
		P(BR_SPEC_NA),
		P(BR_SPEC_WRONG_PATH),
		P(BR_NON_SPEC_CORRECT_PATH),
		P(BR_SPEC_CORRECT_PATH),
		P(BR_SPEC_MAX),
		P(BR_NEW_FAULT_ALGN),
		P(BR_NEW_FAULT_DATA),
		P(BR_NEW_FAULT_INST),
		P(BR_NEW_ARCH_1),
		P(BR_NEW_ARCH_2),
		P(BR_NEW_ARCH_3),
		P(BR_NEW_ARCH_4),
		P(BR_NEW_ARCH_5),
		P(BR_NEW_MAX),
		P(BR_PRIV_UNKNOWN),
		P(BR_PRIV_USER),
		P(BR_PRIV_KERNEL),
		P(BR_PRIV_HV),
		P(BR_ARM64_FIQ),
		P(BR_ARM64_DEBUG_HALT),
		P(BR_ARM64_DEBUG_EXIT),
		P(BR_ARM64_DEBUG_INST),
		P(BR_ARM64_DEBUG_DATA),
	};

	(void)state;
	compare(pairs, NR(pairs));
	assert_int_equal(PERCH_SAMPLE_BRANCH_COUNTERS, 1 << 19);
	assert_int_equal(sizeof(struct perch_branch_entry), sizeof(struct perf_branch_entry));
}

static void memory_constants_match(void **state)
{
	static const struct pair pairs[] = {
		P(MEM_OP_NA),
		P(MEM_OP_LOAD),
		P(MEM_OP_STORE),
		P(MEM_OP_PFETCH),
		P(MEM_OP_EXEC),
		P(MEM_OP_SHIFT),
		P(MEM_LVL_NA),
		P(MEM_LVL_HIT),
		P(MEM_LVL_MISS),
		P(MEM_LVL_L1),
		P(MEM_LVL_LFB),
		P(MEM_LVL_L2),
		P(MEM_LVL_L3),
		P(MEM_LVL_LOC_RAM),
		P(MEM_LVL_REM_RAM1),
		P(MEM_LVL_REM_RAM2),
		P(MEM_LVL_REM_CCE1),
		P(MEM_LVL_REM_CCE2),
		P(MEM_LVL_IO),
		P(MEM_LVL_UNC),
		P(MEM_LVL_SHIFT),
		P(MEM_REMOTE_REMOTE),
		P(MEM_REMOTE_SHIFT),
		P(MEM_LVLNUM_L1),
		P(MEM_LVLNUM_L2),
		P(MEM_LVLNUM_L3),
		P(MEM_LVLNUM_L4),
		P(MEM_LVLNUM_CXL),
		P(MEM_LVLNUM_IO),
		P(MEM_LVLNUM_ANY_CACHE),
		P(MEM_LVLNUM_LFB),
		P(MEM_LVLNUM_RAM),
		P(MEM_LVLNUM_PMEM),
		P(MEM_LVLNUM_NA),
		P(MEM_LVLNUM_SHIFT),
		P(MEM_SNOOP_NA),
		P(MEM_SNOOP_NONE),
		P(MEM_SNOOP_HIT),
		P(MEM_SNOOP_MISS),
		P(MEM_SNOOP_HITM),
		P(MEM_SNOOP_SHIFT),
		P(MEM_SNOOPX_FWD),
		P(MEM_SNOOPX_PEER),
		P(MEM_SNOOPX_SHIFT),
		P(MEM_LOCK_NA),
		P(MEM_LOCK_LOCKED),
		P(MEM_LOCK_SHIFT),
		P(MEM_TLB_NA),
		P(MEM_TLB_HIT),
		P(MEM_TLB_MISS),
		P(MEM_TLB_L1),
		P(MEM_TLB_L2),
		P(MEM_TLB_WK),
		P(MEM_TLB_OS),
		P(MEM_TLB_SHIFT),
		P(MEM_BLK_NA),
		P(MEM_BLK_DATA),
		P(MEM_BLK_ADDR),
		P(MEM_BLK_SHIFT),
		P(MEM_HOPS_0),
		P(MEM_HOPS_1),
		P(MEM_HOPS_2),
		P(MEM_HOPS_3),
		P(MEM_HOPS_SHIFT),
		{ "MEM_S", PERCH_MEM_S(LVLNUM, PMEM), PERF_MEM_S(LVLNUM, PMEM) },
	};
	union perch_mem_data_src ours = { .val = PERCH_MEM_S(OP, STORE) |
						 PERCH_MEM_S(REGION, MEM7) | PERCH_MEM_S(HOPS, 3) |
						 PERCH_MEM_S(LVLNUM, L0) };

	(void)state;
	compare(pairs, NR(pairs));
	assert_int_equal(ours.mem_op, PERCH_MEM_OP_STORE);
	assert_int_equal(ours.mem_region, 15);
	assert_int_equal(ours.mem_hops, 4);
	assert_int_equal(ours.mem_lvl_num, 7);
	assert_int_equal(ours.mem_rsvd, 0);
	assert_int_equal(sizeof(ours), 8);
	assert_int_equal(sizeof(union perch_sample_weight), sizeof(union perf_sample_weight));
	assert_int_equal(offsetof(union perch_sample_weight, var3_w),
			 offsetof(union perf_sample_weight, var3_w));
}

static void ioctls_and_flags_match(void **state)
{
	static const struct pair pairs[] = {
		IOC(ENABLE),	    IOC(DISABLE),	 IOC(REFRESH),	    IOC(RESET),
		IOC(PERIOD),	    IOC(SET_OUTPUT),	 IOC(SET_FILTER),   IOC(ID),
		IOC(SET_BPF),	    IOC(PAUSE_OUTPUT),	 IOC(QUERY_BPF),    IOC(MODIFY_ATTRIBUTES),
		P(IOC_FLAG_GROUP),  P(FLAG_FD_NO_GROUP), P(FLAG_FD_OUTPUT), P(FLAG_PID_CGROUP),
		P(FLAG_FD_CLOEXEC),
	};

	(void)state;
	compare(pairs, NR(pairs));
	assert_int_equal(sizeof(struct perch_query_bpf), sizeof(struct perf_event_query_bpf));
	assert_int_equal(offsetof(struct perch_query_bpf, prog_cnt),
			 offsetof(struct perf_event_query_bpf, prog_cnt));
}

static void record_constants_match(void **state)
{
	static const struct pair pairs[] = {
		P(RECORD_MMAP),
		P(RECORD_LOST),
		P(RECORD_COMM),
		P(RECORD_EXIT),
		P(RECORD_THROTTLE),
		P(RECORD_UNTHROTTLE),
		P(RECORD_FORK),
		P(RECORD_READ),
		P(RECORD_SAMPLE),
		P(RECORD_MMAP2),
		P(RECORD_AUX),
		P(RECORD_ITRACE_START),
		P(RECORD_LOST_SAMPLES),
		P(RECORD_SWITCH),
		P(RECORD_SWITCH_CPU_WIDE),
		P(RECORD_NAMESPACES),
		P(RECORD_KSYMBOL),
		P(RECORD_BPF_EVENT),
		P(RECORD_CGROUP),
		P(RECORD_TEXT_POKE),
		P(RECORD_AUX_OUTPUT_HW_ID),
		MISC(CPUMODE_MASK),
		MISC(CPUMODE_UNKNOWN),
		MISC(KERNEL),
		MISC(USER),
		MISC(HYPERVISOR),
		MISC(GUEST_KERNEL),
		MISC(GUEST_USER),
		MISC(PROC_MAP_PARSE_TIMEOUT),
		MISC(MMAP_DATA),
		MISC(COMM_EXEC),
		MISC(FORK_EXEC),
		MISC(SWITCH_OUT),
		MISC(EXACT_IP),
		MISC(SWITCH_OUT_PREEMPT),
		MISC(MMAP_BUILD_ID),
		MISC(EXT_RESERVED),
		P(RECORD_KSYMBOL_TYPE_UNKNOWN),
		P(RECORD_KSYMBOL_TYPE_BPF),
		P(RECORD_KSYMBOL_TYPE_OOL),
		P(RECORD_KSYMBOL_TYPE_MAX),
		P(RECORD_KSYMBOL_FLAGS_UNREGISTER),
		P(BPF_EVENT_UNKNOWN),
		P(BPF_EVENT_PROG_LOAD),
		P(BPF_EVENT_PROG_UNLOAD),
		P(BPF_EVENT_MAX),
		P(MAX_STACK_DEPTH),
		P(MAX_CONTEXTS_PER_STACK),
		P(CONTEXT_HV),
		P(CONTEXT_KERNEL),
		P(CONTEXT_USER),
		P(CONTEXT_GUEST),
		P(CONTEXT_GUEST_KERNEL),
		P(CONTEXT_GUEST_USER),
		P(CONTEXT_MAX),
		P(AUX_FLAG_TRUNCATED),
		P(AUX_FLAG_OVERWRITE),
		P(AUX_FLAG_PARTIAL),
		P(AUX_FLAG_COLLISION),
		P(AUX_FLAG_PMU_FORMAT_TYPE_MASK),
		P(AUX_FLAG_CORESIGHT_FORMAT_CORESIGHT),
		P(AUX_FLAG_CORESIGHT_FORMAT_RAW),
		Q(NET_NS_INDEX, NET_NS_INDEX),
		Q(UTS_NS_INDEX, UTS_NS_INDEX),
		Q(IPC_NS_INDEX, IPC_NS_INDEX),
		Q(PID_NS_INDEX, PID_NS_INDEX),
		Q(USER_NS_INDEX, USER_NS_INDEX),
		Q(MNT_NS_INDEX, MNT_NS_INDEX),
		Q(CGROUP_NS_INDEX, CGROUP_NS_INDEX),
		Q(NR_NAMESPACES, NR_NAMESPACES),
	};

	(void)state;
	compare(pairs, NR(pairs));
	assert_int_equal(PERCH_RECORD_CALLCHAIN_DEFERRED, 22);
	assert_true(PERCH_CONTEXT_USER_DEFERRED == (uint64_t)-640);
	assert_int_equal(sizeof(struct perch_record_header), sizeof(struct perf_event_header));
	assert_int_equal(sizeof(struct perch_ns_link_info), sizeof(struct perf_ns_link_info));
}

/* clang-format off */
#define AT(ours, theirs, member)                                                                   \
	{ #member, offsetof(struct ours, member), offsetof(struct theirs, member) },               \
	{ "size of " #member, sizeof(((struct ours *)0)->member),                                  \
	  sizeof(((struct theirs *)0)->member) }
/* clang-format on */
#define ATTR(member) AT(perch_attr, perf_event_attr, member)
#define PAGE(member) AT(perch_mmap_page, perf_event_mmap_page, member)

static void struct_layouts_match(void **state)
{
	static const struct pair pairs[] = {
		P(ATTR_SIZE_VER0),
		P(ATTR_SIZE_VER1),
		P(ATTR_SIZE_VER2),
		P(ATTR_SIZE_VER3),
		P(ATTR_SIZE_VER4),
		P(ATTR_SIZE_VER5),
		P(ATTR_SIZE_VER6),
		P(ATTR_SIZE_VER7),
		ATTR(type),
		ATTR(size),
		ATTR(config),
		ATTR(sample_period),
		ATTR(sample_freq),
		ATTR(sample_type),
		ATTR(read_format),
		ATTR(wakeup_events),
		ATTR(wakeup_watermark),
		ATTR(bp_type),
		ATTR(bp_addr),
		ATTR(kprobe_func),
		ATTR(uprobe_path),
		ATTR(config1),
		ATTR(bp_len),
		ATTR(kprobe_addr),
		ATTR(probe_offset),
		ATTR(config2),
		ATTR(branch_sample_type),
		ATTR(sample_regs_user),
		ATTR(sample_stack_user),
		ATTR(clockid),
		ATTR(sample_regs_intr),
		ATTR(aux_watermark),
		ATTR(sample_max_stack),
		ATTR(aux_sample_size),
		ATTR(sig_data),
		PAGE(version),
		PAGE(compat_version),
		PAGE(lock),
		PAGE(index),
		PAGE(offset),
		PAGE(time_enabled),
		PAGE(time_running),
		PAGE(capabilities),
		PAGE(pmc_width),
		PAGE(time_shift),
		PAGE(time_mult),
		PAGE(time_offset),
		PAGE(time_zero),
		PAGE(size),
		PAGE(time_cycles),
		PAGE(time_mask),
		PAGE(data_head),
		PAGE(data_tail),
		PAGE(data_offset),
		PAGE(data_size),
		PAGE(aux_head),
		PAGE(aux_tail),
		PAGE(aux_offset),
		PAGE(aux_size),
		{ "mmap page", sizeof(struct perch_mmap_page),
		  sizeof(struct perf_event_mmap_page) },
	};

	(void)state;
	compare(pairs, NR(pairs));
	assert_int_equal(sizeof(struct perch_attr), PERCH_ATTR_SIZE_VER9);
	assert_int_equal(offsetof(struct perch_attr, flags), 40);
	assert_int_equal(offsetof(struct perch_attr, aux_action), 116);
	assert_int_equal(offsetof(struct perch_attr, config3), PERCH_ATTR_SIZE_VER7);
	assert_int_equal(offsetof(struct perch_attr, config4), PERCH_ATTR_SIZE_VER8);
}

/* Sets one bit-field in both structs and compares the bytes. */
#define SAME_BIT(member, value)                                                     \
	do {                                                                        \
		union {                                                             \
			struct perch_attr attr;                                     \
			unsigned char byte[sizeof(struct perch_attr)];              \
		} ours;                                                             \
		struct perf_event_attr theirs;                                      \
		memset(&ours, 0, sizeof(ours));                                     \
		memset(&theirs, 0, sizeof(theirs));                                 \
		ours.attr.member = value;                                           \
		theirs.member = value;                                              \
		if (memcmp(ours.byte, &theirs, sizeof(theirs)))                     \
			fail_msg(#member " differs from the header of the system"); \
		field = perch_attr_get_field(#member);                              \
		assert_non_null(field);                                             \
		assert_int_equal(perch_attr_get(&ours.attr, field), value);         \
	} while (0)

static void bit_fields_match(void **state)
{
	const struct perch_attr_field *field;

	(void)state;
	SAME_BIT(disabled, 1);
	SAME_BIT(inherit, 1);
	SAME_BIT(pinned, 1);
	SAME_BIT(exclusive, 1);
	SAME_BIT(exclude_user, 1);
	SAME_BIT(exclude_kernel, 1);
	SAME_BIT(exclude_hv, 1);
	SAME_BIT(exclude_idle, 1);
	SAME_BIT(mmap, 1);
	SAME_BIT(comm, 1);
	SAME_BIT(freq, 1);
	SAME_BIT(inherit_stat, 1);
	SAME_BIT(enable_on_exec, 1);
	SAME_BIT(task, 1);
	SAME_BIT(watermark, 1);
	SAME_BIT(precise_ip, 2);
	SAME_BIT(mmap_data, 1);
	SAME_BIT(sample_id_all, 1);
	SAME_BIT(exclude_host, 1);
	SAME_BIT(exclude_guest, 1);
	SAME_BIT(exclude_callchain_kernel, 1);
	SAME_BIT(exclude_callchain_user, 1);
	SAME_BIT(mmap2, 1);
	SAME_BIT(comm_exec, 1);
	SAME_BIT(use_clockid, 1);
	SAME_BIT(context_switch, 1);
	SAME_BIT(write_backward, 1);
	SAME_BIT(namespaces, 1);
	SAME_BIT(ksymbol, 1);
	SAME_BIT(bpf_event, 1);
	SAME_BIT(aux_output, 1);
	SAME_BIT(cgroup, 1);
	SAME_BIT(text_poke, 1);
	SAME_BIT(build_id, 1);
	SAME_BIT(inherit_thread, 1);
	SAME_BIT(remove_on_exec, 1);
	SAME_BIT(sigtrap, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_constants_match),  cmocka_unit_test(sample_constants_match),
		cmocka_unit_test(branch_constants_match), cmocka_unit_test(memory_constants_match),
		cmocka_unit_test(ioctls_and_flags_match), cmocka_unit_test(record_constants_match),
		cmocka_unit_test(struct_layouts_match),	  cmocka_unit_test(bit_fields_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
