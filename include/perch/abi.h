/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The kernel ABI of perf_event_open(2) as of Linux 7.2.
 *
 * The definitions are perch's own, because distributions install headers that are older than their
 * kernels. The names are those of <linux/perf_event.h> with PERCH_ in place of PERF_: struct
 * perf_event_attr is struct perch_attr, and reserved members have no leading underscores. Values
 * and layouts are equal, so one file can include both headers. "since" names the first kernel
 * release with a feature. Everything without it exists since 2.6.31, as perf_event_open(2) itself.
 *
 * Sources: include/uapi/linux/perf_event.h and kernel/events/core.c of Linux 7.2. All functions are
 * thread-safe and async-signal-safe: they use only their arguments and constant tables. They need
 * no err: only perch_attr_from_bytes() can fail, and only if size is too small.
 */
#ifndef PERCH_ABI_H
#define PERCH_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <perch/abi_records.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Events ---- */

/** attr.type. The type of another PMU is in /sys/bus/event_source/devices/NAME/type. */
enum perch_type {
	PERCH_TYPE_HARDWARE = 0,   /**< config: enum perch_hardware_id */
	PERCH_TYPE_SOFTWARE = 1,   /**< config: enum perch_software_id */
	PERCH_TYPE_TRACEPOINT = 2, /**< config: the id file of the event in tracefs */
	PERCH_TYPE_HW_CACHE = 3,   /**< config: cache | operation << 8 | result << 16 */
	PERCH_TYPE_RAW = 4,	   /**< config: an event code of the CPU's manual */
	PERCH_TYPE_BREAKPOINT = 5, /**< bp_type, bp_addr, bp_len; since 2.6.33 */
	PERCH_TYPE_MAX
};

/**
 * On hybrid machines bits 32 to 63 of a HARDWARE or HW_CACHE config select the core PMU, by its
 * type. Since 5.13.
 */
#define PERCH_PMU_TYPE_SHIFT 32
#define PERCH_HW_EVENT_MASK  0xffffffff

/** config of PERCH_TYPE_HARDWARE. */
enum perch_hardware_id {
	PERCH_COUNT_HW_CPU_CYCLES = 0,
	PERCH_COUNT_HW_INSTRUCTIONS = 1,
	PERCH_COUNT_HW_CACHE_REFERENCES = 2,
	PERCH_COUNT_HW_CACHE_MISSES = 3,
	PERCH_COUNT_HW_BRANCH_INSTRUCTIONS = 4,
	PERCH_COUNT_HW_BRANCH_MISSES = 5,
	PERCH_COUNT_HW_BUS_CYCLES = 6,
	PERCH_COUNT_HW_STALLED_CYCLES_FRONTEND = 7, /**< since 3.0 */
	PERCH_COUNT_HW_STALLED_CYCLES_BACKEND = 8,  /**< since 3.0 */
	PERCH_COUNT_HW_REF_CPU_CYCLES = 9,	    /**< since 3.3 */
	PERCH_COUNT_HW_MAX
};

/** config of PERCH_TYPE_HW_CACHE, bits 0..7. */
enum perch_cache_id {
	PERCH_COUNT_HW_CACHE_L1D = 0,
	PERCH_COUNT_HW_CACHE_L1I = 1,
	PERCH_COUNT_HW_CACHE_LL = 2,
	PERCH_COUNT_HW_CACHE_DTLB = 3,
	PERCH_COUNT_HW_CACHE_ITLB = 4,
	PERCH_COUNT_HW_CACHE_BPU = 5,
	PERCH_COUNT_HW_CACHE_NODE = 6, /**< since 3.1 */
	PERCH_COUNT_HW_CACHE_MAX
};

/** config of PERCH_TYPE_HW_CACHE, bits 8..15. */
enum perch_cache_operation {
	PERCH_COUNT_HW_CACHE_OP_READ = 0,
	PERCH_COUNT_HW_CACHE_OP_WRITE = 1,
	PERCH_COUNT_HW_CACHE_OP_PREFETCH = 2,
	PERCH_COUNT_HW_CACHE_OP_MAX
};

/** config of PERCH_TYPE_HW_CACHE, bits 16..23. */
enum perch_cache_result {
	PERCH_COUNT_HW_CACHE_RESULT_ACCESS = 0,
	PERCH_COUNT_HW_CACHE_RESULT_MISS = 1,
	PERCH_COUNT_HW_CACHE_RESULT_MAX
};

/** config of PERCH_TYPE_SOFTWARE: events of the kernel itself, on any machine. Clocks count ns. */
enum perch_software_id {
	PERCH_COUNT_SW_CPU_CLOCK = 0,
	PERCH_COUNT_SW_TASK_CLOCK = 1,
	PERCH_COUNT_SW_PAGE_FAULTS = 2,
	PERCH_COUNT_SW_CONTEXT_SWITCHES = 3,
	PERCH_COUNT_SW_CPU_MIGRATIONS = 4,
	PERCH_COUNT_SW_PAGE_FAULTS_MIN = 5,
	PERCH_COUNT_SW_PAGE_FAULTS_MAJ = 6,
	PERCH_COUNT_SW_ALIGNMENT_FAULTS = 7, /**< since 2.6.33 */
	PERCH_COUNT_SW_EMULATION_FAULTS = 8, /**< since 2.6.33 */
	/** counts nothing; a carrier of side-band records; since 3.12 */
	PERCH_COUNT_SW_DUMMY = 9,
	PERCH_COUNT_SW_BPF_OUTPUT = 10,	     /**< since 4.4 */
	PERCH_COUNT_SW_CGROUP_SWITCHES = 11, /**< since 5.13 */
	PERCH_COUNT_SW_MAX
};

/**
 * attr.bp_type, as in <linux/hw_breakpoint.h>.
 *
 * On x86 a read or write is reported after the instruction: the ip of a sample, and of the signal
 * of sigtrap, is that of the next instruction, and ip - 1 is a byte of the instruction that
 * accessed the memory. The exceptions are in perch-events(7). For PERCH_BREAKPOINT_X, and on arm64
 * always, ip is the instruction itself.
 */
enum perch_breakpoint_type {
	PERCH_BREAKPOINT_EMPTY = 0,
	PERCH_BREAKPOINT_R = 1,
	PERCH_BREAKPOINT_W = 2,
	PERCH_BREAKPOINT_RW = 3,
	PERCH_BREAKPOINT_X = 4
};

/* ---- Samples ---- */

/** attr.sample_type. */
enum perch_sample_format {
	PERCH_SAMPLE_IP = 1 << 0,
	PERCH_SAMPLE_TID = 1 << 1,
	PERCH_SAMPLE_TIME = 1 << 2,
	PERCH_SAMPLE_ADDR = 1 << 3,
	PERCH_SAMPLE_READ = 1 << 4,
	PERCH_SAMPLE_CALLCHAIN = 1 << 5,
	PERCH_SAMPLE_ID = 1 << 6,
	PERCH_SAMPLE_CPU = 1 << 7,
	PERCH_SAMPLE_PERIOD = 1 << 8,
	PERCH_SAMPLE_STREAM_ID = 1 << 9,
	PERCH_SAMPLE_RAW = 1 << 10,
	PERCH_SAMPLE_BRANCH_STACK = 1 << 11,   /**< since 3.4 */
	PERCH_SAMPLE_REGS_USER = 1 << 12,      /**< since 3.7 */
	PERCH_SAMPLE_STACK_USER = 1 << 13,     /**< since 3.7 */
	PERCH_SAMPLE_WEIGHT = 1 << 14,	       /**< since 3.10 */
	PERCH_SAMPLE_DATA_SRC = 1 << 15,       /**< since 3.10 */
	PERCH_SAMPLE_IDENTIFIER = 1 << 16,     /**< since 3.12 */
	PERCH_SAMPLE_TRANSACTION = 1 << 17,    /**< since 3.13 */
	PERCH_SAMPLE_REGS_INTR = 1 << 18,      /**< since 3.19 */
	PERCH_SAMPLE_PHYS_ADDR = 1 << 19,      /**< since 4.14 */
	PERCH_SAMPLE_AUX = 1 << 20,	       /**< since 5.5 */
	PERCH_SAMPLE_CGROUP = 1 << 21,	       /**< since 5.7 */
	PERCH_SAMPLE_DATA_PAGE_SIZE = 1 << 22, /**< since 5.11 */
	PERCH_SAMPLE_CODE_PAGE_SIZE = 1 << 23, /**< since 5.11 */
	PERCH_SAMPLE_WEIGHT_STRUCT = 1 << 24,  /**< since 5.12 */
	PERCH_SAMPLE_MAX = 1 << 25
};

/** Both bits of the weight; at most one may be set. */
#define PERCH_SAMPLE_WEIGHT_TYPE (PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT)

/** Bit numbers of attr.branch_sample_type. */
enum perch_branch_sample_shift {
	PERCH_SAMPLE_BRANCH_USER_SHIFT = 0,
	PERCH_SAMPLE_BRANCH_KERNEL_SHIFT = 1,
	PERCH_SAMPLE_BRANCH_HV_SHIFT = 2,
	PERCH_SAMPLE_BRANCH_ANY_SHIFT = 3,
	PERCH_SAMPLE_BRANCH_ANY_CALL_SHIFT = 4,
	PERCH_SAMPLE_BRANCH_ANY_RETURN_SHIFT = 5,
	PERCH_SAMPLE_BRANCH_IND_CALL_SHIFT = 6,
	PERCH_SAMPLE_BRANCH_ABORT_TX_SHIFT = 7,
	PERCH_SAMPLE_BRANCH_IN_TX_SHIFT = 8,
	PERCH_SAMPLE_BRANCH_NO_TX_SHIFT = 9,
	PERCH_SAMPLE_BRANCH_COND_SHIFT = 10,
	PERCH_SAMPLE_BRANCH_CALL_STACK_SHIFT = 11,
	PERCH_SAMPLE_BRANCH_IND_JUMP_SHIFT = 12,
	PERCH_SAMPLE_BRANCH_CALL_SHIFT = 13,
	PERCH_SAMPLE_BRANCH_NO_FLAGS_SHIFT = 14,
	PERCH_SAMPLE_BRANCH_NO_CYCLES_SHIFT = 15,
	PERCH_SAMPLE_BRANCH_TYPE_SAVE_SHIFT = 16,
	PERCH_SAMPLE_BRANCH_HW_INDEX_SHIFT = 17,
	PERCH_SAMPLE_BRANCH_PRIV_SAVE_SHIFT = 18,
	PERCH_SAMPLE_BRANCH_COUNTERS_SHIFT = 19,
	PERCH_SAMPLE_BRANCH_MAX_SHIFT = 20
};

/** attr.branch_sample_type; since 3.4. Without USER, KERNEL and HV the exclude_* bits select the
 * modes. */
enum perch_branch_sample {
	PERCH_SAMPLE_BRANCH_USER = 1 << 0,
	PERCH_SAMPLE_BRANCH_KERNEL = 1 << 1,
	PERCH_SAMPLE_BRANCH_HV = 1 << 2,
	PERCH_SAMPLE_BRANCH_ANY = 1 << 3,
	PERCH_SAMPLE_BRANCH_ANY_CALL = 1 << 4,
	PERCH_SAMPLE_BRANCH_ANY_RETURN = 1 << 5,
	PERCH_SAMPLE_BRANCH_IND_CALL = 1 << 6,
	PERCH_SAMPLE_BRANCH_ABORT_TX = 1 << 7,	  /**< since 3.11 */
	PERCH_SAMPLE_BRANCH_IN_TX = 1 << 8,	  /**< since 3.11 */
	PERCH_SAMPLE_BRANCH_NO_TX = 1 << 9,	  /**< since 3.11 */
	PERCH_SAMPLE_BRANCH_COND = 1 << 10,	  /**< since 3.16 */
	PERCH_SAMPLE_BRANCH_CALL_STACK = 1 << 11, /**< since 4.1 */
	PERCH_SAMPLE_BRANCH_IND_JUMP = 1 << 12,	  /**< since 4.2 */
	PERCH_SAMPLE_BRANCH_CALL = 1 << 13,	  /**< since 4.4 */
	PERCH_SAMPLE_BRANCH_NO_FLAGS = 1 << 14,	  /**< since 4.5 */
	PERCH_SAMPLE_BRANCH_NO_CYCLES = 1 << 15,  /**< since 4.5 */
	PERCH_SAMPLE_BRANCH_TYPE_SAVE = 1 << 16,  /**< since 4.14 */
	PERCH_SAMPLE_BRANCH_HW_INDEX = 1 << 17,	  /**< since 5.7 */
	PERCH_SAMPLE_BRANCH_PRIV_SAVE = 1 << 18,  /**< since 6.1 */
	PERCH_SAMPLE_BRANCH_COUNTERS = 1 << 19,	  /**< since 6.8 */
	PERCH_SAMPLE_BRANCH_MAX = 1 << 20
};

#define PERCH_SAMPLE_BRANCH_PLM_ALL \
	(PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_KERNEL | PERCH_SAMPLE_BRANCH_HV)

/** perch_branch_entry.type. */
enum perch_branch_type {
	PERCH_BR_UNKNOWN = 0,
	PERCH_BR_COND = 1,
	PERCH_BR_UNCOND = 2,
	PERCH_BR_IND = 3,
	PERCH_BR_CALL = 4,
	PERCH_BR_IND_CALL = 5,
	PERCH_BR_RET = 6,
	PERCH_BR_SYSCALL = 7,
	PERCH_BR_SYSRET = 8,
	PERCH_BR_COND_CALL = 9,
	PERCH_BR_COND_RET = 10,
	PERCH_BR_ERET = 11,
	PERCH_BR_IRQ = 12,
	PERCH_BR_SERROR = 13,
	PERCH_BR_NO_TX = 14,
	PERCH_BR_EXTEND_ABI = 15, /**< the type is in new_type */
	PERCH_BR_MAX
};

/** perch_branch_entry.new_type. */
enum perch_branch_new_type {
	PERCH_BR_NEW_FAULT_ALGN = 0,
	PERCH_BR_NEW_FAULT_DATA = 1,
	PERCH_BR_NEW_FAULT_INST = 2,
	PERCH_BR_NEW_ARCH_1 = 3,
	PERCH_BR_NEW_ARCH_2 = 4,
	PERCH_BR_NEW_ARCH_3 = 5,
	PERCH_BR_NEW_ARCH_4 = 6,
	PERCH_BR_NEW_ARCH_5 = 7,
	PERCH_BR_NEW_MAX
};

#define PERCH_BR_ARM64_FIQ	  PERCH_BR_NEW_ARCH_1
#define PERCH_BR_ARM64_DEBUG_HALT PERCH_BR_NEW_ARCH_2
#define PERCH_BR_ARM64_DEBUG_EXIT PERCH_BR_NEW_ARCH_3
#define PERCH_BR_ARM64_DEBUG_INST PERCH_BR_NEW_ARCH_4
#define PERCH_BR_ARM64_DEBUG_DATA PERCH_BR_NEW_ARCH_5

/** perch_branch_entry.spec. */
enum perch_branch_speculation {
	PERCH_BR_SPEC_NA = 0,
	PERCH_BR_SPEC_WRONG_PATH = 1,
	PERCH_BR_NON_SPEC_CORRECT_PATH = 2,
	PERCH_BR_SPEC_CORRECT_PATH = 3,
	PERCH_BR_SPEC_MAX
};

/** perch_branch_entry.priv. */
enum perch_branch_privilege {
	PERCH_BR_PRIV_UNKNOWN = 0,
	PERCH_BR_PRIV_USER = 1,
	PERCH_BR_PRIV_KERNEL = 2,
	PERCH_BR_PRIV_HV = 3
};

/** The word before the registers of a sample. After NONE no registers follow. */
enum perch_sample_regs_abi {
	PERCH_SAMPLE_REGS_ABI_NONE = 0,
	PERCH_SAMPLE_REGS_ABI_32 = 1,
	PERCH_SAMPLE_REGS_ABI_64 = 2
};

/** PERCH_SAMPLE_TRANSACTION: why a hardware transaction ended. */
enum perch_transaction {
	PERCH_TXN_ELISION = 1 << 0,
	PERCH_TXN_TRANSACTION = 1 << 1,
	PERCH_TXN_SYNC = 1 << 2,  /**< the sampled instruction caused the abort */
	PERCH_TXN_ASYNC = 1 << 3, /**< another instruction caused it */
	PERCH_TXN_RETRY = 1 << 4,
	PERCH_TXN_CONFLICT = 1 << 5,
	PERCH_TXN_CAPACITY_WRITE = 1 << 6,
	PERCH_TXN_CAPACITY_READ = 1 << 7,
	PERCH_TXN_MAX = 1 << 8,
	PERCH_TXN_ABORT_SHIFT = 32
};

#define PERCH_TXN_ABORT_MASK (UINT64_C(0xffffffff) << 32) /**< the abort code of the program */

/**
 * attr.read_format: the 64-bit words that read(2) returns. Without GROUP: value, enabled, running,
 * id, lost. With GROUP: nr, enabled, running, then nr times value, id, lost. Words that are not
 * requested are left out.
 */
enum perch_read_format {
	PERCH_FORMAT_TOTAL_TIME_ENABLED = 1 << 0,
	PERCH_FORMAT_TOTAL_TIME_RUNNING = 1 << 1,
	PERCH_FORMAT_ID = 1 << 2,
	PERCH_FORMAT_GROUP = 1 << 3,
	PERCH_FORMAT_LOST = 1 << 4, /**< since 6.0 */
	PERCH_FORMAT_MAX = 1 << 5
};

/* ---- The attr ---- */

#define PERCH_ATTR_SIZE_VER0 64	 /**< since 2.6.31 */
#define PERCH_ATTR_SIZE_VER1 72	 /**< since 2.6.33: bp_len, config2 */
#define PERCH_ATTR_SIZE_VER2 80	 /**< since 3.4: branch_sample_type */
#define PERCH_ATTR_SIZE_VER3 96	 /**< since 3.7: sample_regs_user, sample_stack_user */
#define PERCH_ATTR_SIZE_VER4 104 /**< since 3.19: sample_regs_intr */
#define PERCH_ATTR_SIZE_VER5 112 /**< since 4.1: aux_watermark */
#define PERCH_ATTR_SIZE_VER6 120 /**< since 5.5: aux_sample_size */
#define PERCH_ATTR_SIZE_VER7 128 /**< since 5.13: sig_data */
#define PERCH_ATTR_SIZE_VER8 136 /**< since 6.3: config3 */
#define PERCH_ATTR_SIZE_VER9 144 /**< since 6.19: config4 */

/**
 * An event and its options.
 *
 * The bit-fields are declared in one order on every machine, as in the kernel. `disabled` is the
 * lowest bit of `flags` on a little-endian machine and the highest on a big-endian machine, so
 * `flags` is not portable.
 */
struct perch_attr {
	uint32_t type; /**< enum perch_type, or the type of a PMU */
	/** PERCH_ATTR_SIZE_*; bytes beyond the size that the kernel supports must be zero */
	uint32_t size;
	uint64_t config;
	__extension__ union {
		uint64_t sample_period; /**< events per sample; 0 counts only */
		uint64_t sample_freq;	/**< samples per second, with freq */
	};
	uint64_t sample_type; /**< enum perch_sample_format */
	uint64_t read_format; /**< enum perch_read_format */
	__extension__ union {
		uint64_t flags; /**< all bits below */
		__extension__ struct {
			uint64_t disabled : 1; /**< starts disabled */
			uint64_t inherit : 1;  /**< children inherit the event */
			/** always on the PMU, or in error state; group leaders only */
			uint64_t pinned : 1;
			/** no other group on the PMU at the same time; group leaders only */
			uint64_t exclusive : 1;
			uint64_t exclude_user : 1;
			uint64_t exclude_kernel : 1;
			uint64_t exclude_hv : 1;
			uint64_t exclude_idle : 1;
			uint64_t mmap : 1;	   /**< MMAP records of executable mappings */
			uint64_t comm : 1;	   /**< COMM records */
			uint64_t freq : 1;	   /**< sample_freq is valid, not sample_period */
			uint64_t inherit_stat : 1; /**< READ records with the counts of each task */
			uint64_t enable_on_exec : 1;
			uint64_t task : 1; /**< FORK and EXIT records */
			/** wakeup_watermark is valid, not wakeup_events */
			uint64_t watermark : 1;
			/** skid: 0 arbitrary, 1 constant, 2 requested to be 0, 3 must be 0;
			 * since 2.6.35 */
			uint64_t precise_ip : 2;
			uint64_t mmap_data : 1; /**< MMAP records of data too; since 2.6.36 */
			/** a sample id at the end of every record; since 2.6.38 */
			uint64_t sample_id_all : 1;
			uint64_t exclude_host : 1;	       /**< since 3.2 */
			uint64_t exclude_guest : 1;	       /**< since 3.2 */
			uint64_t exclude_callchain_kernel : 1; /**< since 3.7 */
			uint64_t exclude_callchain_user : 1;   /**< since 3.7 */
			/** MMAP2 instead of MMAP; since 3.12, usable since 3.16 */
			uint64_t mmap2 : 1;
			uint64_t
				comm_exec : 1; /**< COMM records have a flag for exec; since 3.16 */
			uint64_t use_clockid : 1;    /**< times use clockid; since 4.1 */
			uint64_t context_switch : 1; /**< SWITCH records; since 4.3 */
			/** the kernel writes the ring backward; since 4.7 */
			uint64_t write_backward : 1;
			uint64_t namespaces : 1; /**< NAMESPACES records; since 4.12 */
			uint64_t ksymbol : 1;	 /**< KSYMBOL records; since 5.1 */
			uint64_t bpf_event : 1;	 /**< BPF_EVENT records; since 5.1 */
			/** samples go to the AUX area of the leader; since 5.4 */
			uint64_t aux_output : 1;
			uint64_t cgroup : 1;	     /**< CGROUP records; since 5.7 */
			uint64_t text_poke : 1;	     /**< TEXT_POKE records; since 5.9 */
			uint64_t build_id : 1;	     /**< build ids in MMAP2 records; since 5.12 */
			uint64_t inherit_thread : 1; /**< only threads inherit the event; since 5.13
						      */
			uint64_t remove_on_exec : 1; /**< since 5.13 */
			uint64_t sigtrap : 1;	     /**< SIGTRAP at each overflow; since 5.13 */
			/** the user call chain is taken on return to user space; since 6.19 */
			uint64_t defer_callchain : 1;
			/** CALLCHAIN_DEFERRED records go to this event; since 6.19 */
			uint64_t defer_output : 1;
			uint64_t reserved_1 : 24;
		};
	};
	__extension__ union {
		uint32_t wakeup_events; /**< samples between wake-ups */
		/** bytes between wake-ups, with watermark; since 2.6.32 */
		uint32_t wakeup_watermark;
	};
	uint32_t bp_type; /**< enum perch_breakpoint_type; since 2.6.33 */
	__extension__ union {
		uint64_t bp_addr;
		uint64_t kprobe_func; /**< pointer to the function's name; since 4.17 */
		uint64_t uprobe_path; /**< pointer to the file's path; since 4.17 */
		uint64_t config1;
	};
	__extension__ union {
		uint64_t bp_len; /**< bytes: 1, 2, 4 or 8; sizeof(long) for PERCH_BREAKPOINT_X */
		uint64_t kprobe_addr;  /**< address of the probe if kprobe_func is 0; since 4.17 */
		uint64_t probe_offset; /**< since 4.17 */
		uint64_t config2;
	};
	uint64_t branch_sample_type; /**< enum perch_branch_sample; since 3.4 */
	/** bit n: register n of <asm/perf_regs.h>; since 3.7 */
	uint64_t sample_regs_user;
	uint32_t sample_stack_user; /**< bytes, a multiple of 8, below 65536; since 3.7 */
	int32_t clockid;	    /**< a clock of clock_gettime(2), with use_clockid; since 4.1 */
	uint64_t sample_regs_intr;  /**< as sample_regs_user; since 3.19 */
	uint32_t aux_watermark;	    /**< bytes of AUX data between wake-ups; since 4.1 */
	/** frames; 0 is kernel.perf_event_max_stack; since 4.8 */
	uint16_t sample_max_stack;
	uint16_t reserved_2;
	uint32_t aux_sample_size; /**< bytes of AUX data in each sample; since 5.5 */
	__extension__ union {
		uint32_t aux_action; /**< since 6.13 */
		__extension__ struct {
			uint32_t aux_start_paused : 1; /**< AUX tracing starts paused */
			/** overflow pauses the group's AUX tracing */
			uint32_t aux_pause : 1;
			uint32_t aux_resume : 1; /**< overflow resumes it */
			uint32_t reserved_3 : 29;
		};
	};
	/** si_perf_data of the SIGTRAP, with sigtrap; since 5.13 */
	uint64_t sig_data;
	uint64_t config3; /**< since 6.3 */
	uint64_t config4; /**< since 6.19 */
};

/** A field of struct perch_attr. Each name of a union is a field. */
struct perch_attr_field {
	const char *name; /**< the name in the kernel */
	uint16_t offset;  /**< bytes from the start of the attr to the word with the field */
	uint16_t size;	  /**< bytes of that word: 2, 4 or 8 */
	int16_t bit;   /**< first bit of a bit-field, in the kernel's order of declaration; -1 for a
			  word */
	uint16_t bits; /**< width of the field in bits */
	const char *since; /**< first kernel release with the field, as "6.13"; "" for 2.6.31 */
};

/**
 * Returns all fields in the order of the struct.
 *
 * @param[out] nr  the number of fields
 */
PERCH_API const struct perch_attr_field *perch_attr_fields(size_t *nr);
/** Returns the field with a name, or NULL. */
PERCH_API const struct perch_attr_field *perch_attr_get_field(const char *name);
/**
 * Returns the value of a field, zero-extended (clockid too).
 *
 * @param attr   a whole struct, for any attr->size
 * @param field  an element of perch_attr_fields()
 */
PERCH_API uint64_t perch_attr_get(const struct perch_attr *attr,
				  const struct perch_attr_field *field);
/**
 * Sets a field.
 *
 * @param attr   the attr to change
 * @param field  an element of perch_attr_fields()
 * @param value  bits beyond the width of the field are ignored
 */
PERCH_API void perch_attr_set(struct perch_attr *attr, const struct perch_attr_field *field,
			      uint64_t value);

/** A bit of sample_type, read_format or branch_sample_type. */
struct perch_attr_bit {
	const char *field; /**< the name of the field */
	uint64_t bit;	   /**< the mask of the bit */
	const char *name;  /**< the name in the kernel without its prefix: "CGROUP", "LOST",
			      "CALL_STACK" */
	const char
		*since; /**< first kernel release with the bit; "" if it is as old as its field */
};

/**
 * Returns all bits, by field and in ascending order.
 *
 * @param[out] nr  the number of bits
 */
PERCH_API const struct perch_attr_bit *perch_attr_bits(size_t *nr);

/** Bytes that are enough for the names of all bits of a field. */
#define PERCH_ATTR_BITS_TEXT 1024

/**
 * Formats bits by their names: "IP|TID". Bits without names follow as a number.
 *
 * @param field  the name of a field
 * @param value  the bits
 * @param text   gets the text; it is cut if it does not fit
 * @param size   of text, in bytes; PERCH_ATTR_BITS_TEXT is enough
 * @return false if no bits of the field have names; the text is then empty
 */
PERCH_API bool perch_attr_bits_text(const char *field, uint64_t value, char *text, size_t size);

/** A field of an attr as text, as perf prints it. */
struct perch_attr_text {
	const char *label; /**< "sample_type", "{ bp_addr, config1 }" */
	char value[PERCH_ATTR_BITS_TEXT];
};

/**
 * Formats the next field of an attr that is not 0, in the order of the attr.
 *
 * @param attr           a whole struct, for any attr->size
 * @param[in,out] index  0 at first
 * @param[out] text      the field
 * @return false after the last one
 */
PERCH_API bool perch_attr_next_text(const struct perch_attr *attr, size_t *index,
				    struct perch_attr_text *text);

/**
 * Returns a number that orders kernel releases: 1000000 * major + 1000 * minor + patch.
 *
 * @param release  "6.13" or "2.6.39"; "" gives 0
 */
PERCH_API unsigned perch_release_rank(const char *release);

/**
 * A part of an attr that can be left out: a field, or a bit of sample_type, read_format or
 * branch_sample_type. The fields that select the event (type, size, config) are no parts, and a
 * word of a union is one part.
 */
struct perch_attr_part {
	const struct perch_attr_field *field; /**< the field */
	const struct perch_attr_bit *bit; /**< NULL for a whole field, or for its unknown bits */
	uint64_t mask;			  /**< the bits of the field's value */
	unsigned rank; /**< perch_release_rank() of its first kernel release; UINT_MAX for unknown
			  bits */
};

/** At least the number of parts of any attr. */
#define PERCH_ATTR_PARTS_MAX 128

/**
 * Lists the parts of an attr that are not 0, in the order of the attr.
 *
 * @param attr       the attr
 * @param[out] part  the parts; NULL is allowed if max is 0
 * @param max        elements of part
 * @return the number of parts, which may be greater than max
 */
PERCH_API size_t perch_attr_split(const struct perch_attr *attr, struct perch_attr_part *part,
				  size_t max);

/** The byte order of the machine that wrote the records. */
enum perch_byte_order {
	PERCH_BYTES_NATIVE, /**< that of this machine */
	PERCH_BYTES_LITTLE, /**< little-endian */
	PERCH_BYTES_BIG,    /**< big-endian */
};

/**
 * Reads an attr of another kernel version or machine from raw bytes.
 *
 * @param[out] out  the attr; fields beyond size are 0, and out->size is the value in the bytes
 * @param bytes     the attr as recorded, of any alignment
 * @param size      bytes, at least PERCH_ATTR_SIZE_VER0
 * @param order     byte order of the bytes; words and bit-fields are converted
 * @return 0; 1 if bytes beyond the last known field are not zero, which are fields of a newer
 * kernel and not in *out; -EINVAL if size is too small
 */
PERCH_API int perch_attr_from_bytes(struct perch_attr *out, const void *bytes, size_t size,
				    enum perch_byte_order order);

/* ---- Flags and ioctl requests ---- */

/** The flags argument of perf_event_open(2). */
#define PERCH_FLAG_FD_NO_GROUP (1UL << 0)
#define PERCH_FLAG_FD_OUTPUT   (1UL << 1)
#define PERCH_FLAG_PID_CGROUP \
	(1UL << 2) /**< pid is the descriptor of a cgroup directory; since 2.6.39 */
#define PERCH_FLAG_FD_CLOEXEC (1UL << 3) /**< since 3.14 */

/** Argument of PERCH_IOC_QUERY_BPF. */
struct perch_query_bpf {
	uint32_t ids_len; /**< in: elements of ids */
	/** out: number of attached programs, also with ENOSPC */
	uint32_t prog_cnt;
#ifndef __cplusplus
	uint32_t ids[]; /**< C++ has no flexible array members; the ids follow the struct */
#endif
};

#define PERCH_IOC_ENABLE	    _IO('$', 0)
#define PERCH_IOC_DISABLE	    _IO('$', 1)
#define PERCH_IOC_REFRESH	    _IO('$', 2) /**< argument: overflows until it disables itself */
#define PERCH_IOC_RESET		    _IO('$', 3)
#define PERCH_IOC_PERIOD	    _IOW('$', 4, uint64_t)
#define PERCH_IOC_SET_OUTPUT	    _IO('$', 5) /**< argument: descriptor with the ring, or -1 */
#define PERCH_IOC_SET_FILTER	    _IOW('$', 6, char *)
#define PERCH_IOC_ID		    _IOR('$', 7, uint64_t *)		     /**< since 3.12 */
#define PERCH_IOC_SET_BPF	    _IOW('$', 8, uint32_t)		     /**< since 4.1 */
#define PERCH_IOC_PAUSE_OUTPUT	    _IOW('$', 9, uint32_t)		     /**< since 4.7 */
#define PERCH_IOC_QUERY_BPF	    _IOWR('$', 10, struct perch_query_bpf *) /**< since 4.16 */
#define PERCH_IOC_MODIFY_ATTRIBUTES _IOW('$', 11, struct perch_attr *)	     /**< since 4.17 */

/** Argument of ENABLE, DISABLE and RESET. FLAG_GROUP selects the whole group. */
enum perch_ioc_flags { PERCH_IOC_FLAG_GROUP = 1 << 0 };

/* ---- The mapped ring ---- */

/**
 * The control page: the first page of a mapping. The ring follows it. Fields up to time_mask are
 * valid if lock is the same before and after reading them.
 */
struct perch_mmap_page {
	uint32_t version;
	uint32_t compat_version;
	/** sequence lock */
	uint32_t lock;
	/** hardware counter + 1, for rdpmc; 0 if the event is not on a counter */
	uint32_t index;
	int64_t offset;	       /**< is added to the value of the hardware counter */
	uint64_t time_enabled; /**< ns */
	uint64_t time_running; /**< ns */
	__extension__ union {
		uint64_t capabilities;
		__extension__ struct {
			uint64_t cap_bit0 : 1;		     /**< 0 */
			uint64_t cap_bit0_is_deprecated : 1; /**< 1; since 3.12 */
			/** user space may read the counter */
			uint64_t cap_user_rdpmc : 1;
			/** time_shift, time_mult and time_offset are valid */
			uint64_t cap_user_time : 1;
			uint64_t cap_user_time_zero : 1; /**< time_zero is valid; since 3.12 */
			/** time_cycles and time_mask are valid; since 5.9 */
			uint64_t cap_user_time_short : 1;
			uint64_t cap_reserved : 58;
		};
	};
	uint16_t pmc_width; /**< width of the hardware counter, for sign extension */
	/** ns = time_offset + ((cycles * time_mult) >> time_shift) */
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_offset;
	/** the same for the clock of samples: ns = time_zero + ... */
	uint64_t time_zero;
	uint32_t size; /**< bytes of this header in use */
	uint32_t reserved_1;
	/** cycles = time_cycles + ((cycles - time_cycles) & time_mask) */
	uint64_t time_cycles;
	uint64_t time_mask;
	uint8_t reserved[116 * 8];
	uint64_t data_head;   /**< bytes written since the start; load with acquire order */
	uint64_t data_tail;   /**< bytes consumed since the start; store with release order */
	uint64_t data_offset; /**< since 4.1 */
	uint64_t data_size;   /**< since 4.1 */
	uint64_t aux_head;    /**< since 4.1, as the three below */
	uint64_t aux_tail;
	uint64_t aux_offset; /**< set by user space before it maps the AUX area */
	uint64_t aux_size;
};

#ifdef __cplusplus
}
#endif
#endif
