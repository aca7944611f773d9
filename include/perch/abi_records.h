/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The kernel ABI of the records in a ring, as of Linux 7.2. perch/abi.h includes this file and
 * describes its names.
 *
 * Threads, fork, signals: the file has no functions.
 */
#ifndef PERCH_ABI_RECORDS_H
#define PERCH_ABI_RECORDS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Records ---- */

/** The start of each record. */
struct perch_record_header {
	/** enum perch_record_type; types from 64 on belong to perf.data files */
	uint32_t type;
	uint16_t misc; /* PERCH_MISC_* */
	uint16_t size; /**< bytes of the record, this header included */
};

/**
 * header.type, and the layout of each record in types u8 to u64 and text (NUL-terminated, padded to
 * 8 bytes). With sample_id_all each record but SAMPLE ends with a sample id: TID, TIME, ID,
 * STREAM_ID, CPU, IDENTIFIER, the ones in sample_type.
 */
enum perch_record_type {
	/** u32 pid, tid; u64 addr, len, pgoff; text filename */
	PERCH_RECORD_MMAP = 1,
	PERCH_RECORD_LOST = 2,	     /**< u64 id, lost */
	PERCH_RECORD_COMM = 3,	     /**< u32 pid, tid; text comm */
	PERCH_RECORD_EXIT = 4,	     /**< u32 pid, ppid, tid, ptid; u64 time */
	PERCH_RECORD_THROTTLE = 5,   /**< u64 time, id, stream_id */
	PERCH_RECORD_UNTHROTTLE = 6, /**< as THROTTLE */
	PERCH_RECORD_FORK = 7,	     /**< as EXIT */
	PERCH_RECORD_READ = 8,	     /**< u32 pid, tid; the words of read(2) */
	PERCH_RECORD_SAMPLE = 9,     /**< the fields of sample_type */
	/**
	 * MMAP up to pgoff; u32 maj, min; u64 ino, ino_generation (or the build id: u8 size, 3
	 * unused bytes, u8 id[20]); u32 prot, flags; text filename; since 3.12, build id since 5.12
	 */
	PERCH_RECORD_MMAP2 = 10,
	PERCH_RECORD_AUX = 11,		   /**< u64 aux_offset, aux_size, flags; since 4.1 */
	PERCH_RECORD_ITRACE_START = 12,	   /**< u32 pid, tid; since 4.1 */
	PERCH_RECORD_LOST_SAMPLES = 13,	   /**< u64 lost; since 4.2 */
	PERCH_RECORD_SWITCH = 14,	   /**< a sample id only; since 4.3 */
	PERCH_RECORD_SWITCH_CPU_WIDE = 15, /**< u32 next_prev_pid, next_prev_tid; since 4.3 */
	/** u32 pid, tid; u64 nr; struct perch_ns_link_info [nr]; since 4.12 */
	PERCH_RECORD_NAMESPACES = 16,
	/** u64 addr; u32 len; u16 type, flags; text name; since 5.1 */
	PERCH_RECORD_KSYMBOL = 17,
	PERCH_RECORD_BPF_EVENT = 18, /**< u16 type, flags; u32 id; u8 tag[8]; since 5.1 */
	PERCH_RECORD_CGROUP = 19,    /**< u64 id; text path; since 5.7 */
	/** u64 addr; u16 old_len, new_len; u8 old[], new[]; since 5.9 */
	PERCH_RECORD_TEXT_POKE = 20,
	PERCH_RECORD_AUX_OUTPUT_HW_ID = 21,   /**< u64 hw_id; since 5.16 */
	PERCH_RECORD_CALLCHAIN_DEFERRED = 22, /**< u64 cookie, nr, ips[nr]; since 6.19 */
	PERCH_RECORD_MAX
};

/** header.misc: the cpumode, then bits whose meaning depends on the record type. */
#define PERCH_MISC_CPUMODE_MASK		  (7 << 0)
#define PERCH_MISC_CPUMODE_UNKNOWN	  (0 << 0)
#define PERCH_MISC_KERNEL		  (1 << 0)
#define PERCH_MISC_USER			  (2 << 0)
#define PERCH_MISC_HYPERVISOR		  (3 << 0)
#define PERCH_MISC_GUEST_KERNEL		  (4 << 0)
#define PERCH_MISC_GUEST_USER		  (5 << 0)
#define PERCH_MISC_PROC_MAP_PARSE_TIMEOUT (1 << 12) /**< written by perf, not by the kernel */
#define PERCH_MISC_MMAP_DATA		  (1 << 13) /**< MMAP, MMAP2 */
#define PERCH_MISC_COMM_EXEC		  (1 << 13) /**< COMM */
#define PERCH_MISC_FORK_EXEC		  (1 << 13) /**< FORK; written by perf */
#define PERCH_MISC_SWITCH_OUT		  (1 << 13) /**< SWITCH, SWITCH_CPU_WIDE */
#define PERCH_MISC_EXACT_IP		  (1 << 14) /**< SAMPLE */
#define PERCH_MISC_SWITCH_OUT_PREEMPT	  (1 << 14) /**< SWITCH, SWITCH_CPU_WIDE */
#define PERCH_MISC_MMAP_BUILD_ID	  (1 << 14) /**< MMAP2 */
#define PERCH_MISC_EXT_RESERVED		  (1 << 15)

/** One namespace of PERCH_RECORD_NAMESPACES. */
struct perch_ns_link_info {
	uint64_t dev;
	uint64_t ino;
};

/** The namespaces of a PERCH_RECORD_NAMESPACES record, in its order. */
enum perch_ns_index {
	PERCH_NET_NS_INDEX = 0,
	PERCH_UTS_NS_INDEX = 1,
	PERCH_IPC_NS_INDEX = 2,
	PERCH_PID_NS_INDEX = 3,
	PERCH_USER_NS_INDEX = 4,
	PERCH_MNT_NS_INDEX = 5,
	PERCH_CGROUP_NS_INDEX = 6,
	PERCH_NR_NAMESPACES
};

/** PERCH_RECORD_KSYMBOL: type and flags. */
enum perch_ksymbol_type {
	PERCH_RECORD_KSYMBOL_TYPE_UNKNOWN = 0,
	PERCH_RECORD_KSYMBOL_TYPE_BPF = 1,
	/** out-of-line code of kprobes and ftrace; since 5.9 */
	PERCH_RECORD_KSYMBOL_TYPE_OOL = 2,
	PERCH_RECORD_KSYMBOL_TYPE_MAX
};
#define PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER (1 << 0)

/** PERCH_RECORD_BPF_EVENT: type. */
enum perch_bpf_event_type {
	PERCH_BPF_EVENT_UNKNOWN = 0,
	PERCH_BPF_EVENT_PROG_LOAD = 1,
	PERCH_BPF_EVENT_PROG_UNLOAD = 2,
	PERCH_BPF_EVENT_MAX
};

/** Defaults of kernel.perf_event_max_stack and kernel.perf_event_max_contexts_per_stack. */
#define PERCH_MAX_STACK_DEPTH	     127
#define PERCH_MAX_CONTEXTS_PER_STACK 8

/**
 * Context markers: words of a call chain that are not addresses. A marker gives the cpumode of the
 * addresses after it. All markers are at least PERCH_CONTEXT_MAX.
 */
#define PERCH_CONTEXT_HV     ((uint64_t)-32)
#define PERCH_CONTEXT_KERNEL ((uint64_t)-128)
#define PERCH_CONTEXT_USER   ((uint64_t)-512)
/** The next word is the cookie of a CALLCHAIN_DEFERRED record. Since 6.19. */
#define PERCH_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define PERCH_CONTEXT_GUEST	    ((uint64_t)-2048)
#define PERCH_CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define PERCH_CONTEXT_GUEST_USER    ((uint64_t)-2560)
#define PERCH_CONTEXT_MAX	    ((uint64_t)-4095)

/** PERCH_RECORD_AUX: flags. */
#define PERCH_AUX_FLAG_TRUNCATED		  0x01
#define PERCH_AUX_FLAG_OVERWRITE		  0x02
#define PERCH_AUX_FLAG_PARTIAL			  0x04	 /**< since 4.12 */
#define PERCH_AUX_FLAG_COLLISION		  0x08	 /**< since 4.15 */
#define PERCH_AUX_FLAG_PMU_FORMAT_TYPE_MASK	  0xff00 /**< since 5.13 */
#define PERCH_AUX_FLAG_CORESIGHT_FORMAT_CORESIGHT 0x0000
#define PERCH_AUX_FLAG_CORESIGHT_FORMAT_RAW	  0x0100

/* ---- Parts of samples ---- */

/** One taken branch. The bit-fields are declared as in struct perch_attr. */
struct perch_branch_entry {
	uint64_t from;
	uint64_t to;
	__extension__ union {
		uint64_t flags;
		__extension__ struct {
			uint64_t mispred : 1;
			uint64_t predicted : 1; /**< neither of the two: unknown */
			uint64_t in_tx : 1;
			uint64_t abort : 1;
			uint64_t cycles : 16;  /**< since the previous branch; 0 if unknown */
			uint64_t type : 4;     /**< enum perch_branch_type */
			uint64_t spec : 2;     /**< enum perch_branch_speculation */
			uint64_t new_type : 4; /**< enum perch_branch_new_type */
			uint64_t priv : 3;     /**< enum perch_branch_privilege */
			uint64_t reserved : 31;
		};
	};
};
#define PERCH_BRANCH_ENTRY_INFO_BITS_MAX 33

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/** PERCH_SAMPLE_WEIGHT (full) and PERCH_SAMPLE_WEIGHT_STRUCT. */
union perch_sample_weight {
	uint64_t full;
	__extension__ struct {
		uint32_t var1_dw;
		uint16_t var2_w;
		uint16_t var3_w;
	};
};

/** PERCH_SAMPLE_DATA_SRC: bit positions in `val` are equal on every machine. */
union perch_mem_data_src {
	uint64_t val;
	__extension__ struct {
		uint64_t mem_op : 5;
		uint64_t mem_lvl : 14;
		uint64_t mem_snoop : 5;
		uint64_t mem_lock : 2;
		uint64_t mem_dtlb : 7;
		uint64_t mem_lvl_num : 4;
		uint64_t mem_remote : 1;
		uint64_t mem_snoopx : 2;
		uint64_t mem_blk : 3;
		uint64_t mem_hops : 3;
		uint64_t mem_region : 5;
		uint64_t mem_rsvd : 13;
	};
};
#else
union perch_sample_weight {
	uint64_t full;
	__extension__ struct {
		uint16_t var3_w;
		uint16_t var2_w;
		uint32_t var1_dw;
	};
};

union perch_mem_data_src {
	uint64_t val;
	__extension__ struct {
		uint64_t mem_rsvd : 13;
		uint64_t mem_region : 5;
		uint64_t mem_hops : 3;
		uint64_t mem_blk : 3;
		uint64_t mem_snoopx : 2;
		uint64_t mem_remote : 1;
		uint64_t mem_lvl_num : 4;
		uint64_t mem_dtlb : 7;
		uint64_t mem_lock : 2;
		uint64_t mem_snoop : 5;
		uint64_t mem_lvl : 14;
		uint64_t mem_op : 5;
	};
};
#endif

#define PERCH_MEM_OP_NA	    0x01
#define PERCH_MEM_OP_LOAD   0x02
#define PERCH_MEM_OP_STORE  0x04
#define PERCH_MEM_OP_PFETCH 0x08
#define PERCH_MEM_OP_EXEC   0x10
#define PERCH_MEM_OP_SHIFT  0

/** The old encoding of the level; LVLNUM, REMOTE and HOPS are more precise. */
#define PERCH_MEM_LVL_NA	     0x01
#define PERCH_MEM_LVL_HIT	     0x02
#define PERCH_MEM_LVL_MISS	     0x04
#define PERCH_MEM_LVL_L1	     0x08
#define PERCH_MEM_LVL_LFB	     0x10
#define PERCH_MEM_LVL_L2	     0x20
#define PERCH_MEM_LVL_L3	     0x40
#define PERCH_MEM_LVL_LOC_RAM	     0x80
#define PERCH_MEM_LVL_REM_RAM1	     0x100
#define PERCH_MEM_LVL_REM_RAM2	     0x200
#define PERCH_MEM_LVL_REM_CCE1	     0x400
#define PERCH_MEM_LVL_REM_CCE2	     0x800
#define PERCH_MEM_LVL_IO	     0x1000
#define PERCH_MEM_LVL_UNC	     0x2000
#define PERCH_MEM_LVL_SHIFT	     5

#define PERCH_MEM_SNOOP_NA	     0x01
#define PERCH_MEM_SNOOP_NONE	     0x02
#define PERCH_MEM_SNOOP_HIT	     0x04
#define PERCH_MEM_SNOOP_MISS	     0x08
#define PERCH_MEM_SNOOP_HITM	     0x10
#define PERCH_MEM_SNOOP_SHIFT	     19

#define PERCH_MEM_LOCK_NA	     0x01
#define PERCH_MEM_LOCK_LOCKED	     0x02
#define PERCH_MEM_LOCK_SHIFT	     24

#define PERCH_MEM_TLB_NA	     0x01
#define PERCH_MEM_TLB_HIT	     0x02
#define PERCH_MEM_TLB_MISS	     0x04
#define PERCH_MEM_TLB_L1	     0x08
#define PERCH_MEM_TLB_L2	     0x10
#define PERCH_MEM_TLB_WK	     0x20
#define PERCH_MEM_TLB_OS	     0x40
#define PERCH_MEM_TLB_SHIFT	     26

#define PERCH_MEM_LVLNUM_L1	     0x01
#define PERCH_MEM_LVLNUM_L2	     0x02
#define PERCH_MEM_LVLNUM_L3	     0x03
#define PERCH_MEM_LVLNUM_L4	     0x04
#define PERCH_MEM_LVLNUM_L2_MHB	     0x05 /**< L2 miss handling buffer */
#define PERCH_MEM_LVLNUM_MSC	     0x06 /**< memory-side cache */
#define PERCH_MEM_LVLNUM_L0	     0x07
#define PERCH_MEM_LVLNUM_UNC	     0x08 /**< since 6.6 */
#define PERCH_MEM_LVLNUM_CXL	     0x09 /**< since 6.1 */
#define PERCH_MEM_LVLNUM_IO	     0x0a /**< since 6.1 */
#define PERCH_MEM_LVLNUM_ANY_CACHE   0x0b
#define PERCH_MEM_LVLNUM_LFB	     0x0c
#define PERCH_MEM_LVLNUM_RAM	     0x0d
#define PERCH_MEM_LVLNUM_PMEM	     0x0e
#define PERCH_MEM_LVLNUM_NA	     0x0f
#define PERCH_MEM_LVLNUM_SHIFT	     33

#define PERCH_MEM_REMOTE_REMOTE	     0x01
#define PERCH_MEM_REMOTE_SHIFT	     37

#define PERCH_MEM_SNOOPX_FWD	     0x01
#define PERCH_MEM_SNOOPX_PEER	     0x02
#define PERCH_MEM_SNOOPX_SHIFT	     38

#define PERCH_MEM_BLK_NA	     0x01
#define PERCH_MEM_BLK_DATA	     0x02
#define PERCH_MEM_BLK_ADDR	     0x04
#define PERCH_MEM_BLK_SHIFT	     40

#define PERCH_MEM_HOPS_0	     0x01 /**< other core, same node */
#define PERCH_MEM_HOPS_1	     0x02 /**< other node, same socket */
#define PERCH_MEM_HOPS_2	     0x03 /**< other socket, same board */
#define PERCH_MEM_HOPS_3	     0x04 /**< other board */
#define PERCH_MEM_HOPS_SHIFT	     43

#define PERCH_MEM_REGION_NA	     0x00
#define PERCH_MEM_REGION_RSVD	     0x01
#define PERCH_MEM_REGION_L_SHARE     0x02 /**< shared cache, local */
#define PERCH_MEM_REGION_L_NON_SHARE 0x03 /**< private cache, local */
#define PERCH_MEM_REGION_O_IO	     0x04 /**< I/O agent of another cache agent */
#define PERCH_MEM_REGION_O_SHARE     0x05 /**< shared cache of another */
#define PERCH_MEM_REGION_O_NON_SHARE 0x06 /**< private cache of another */
#define PERCH_MEM_REGION_MMIO	     0x07
#define PERCH_MEM_REGION_MEM0	     0x08
#define PERCH_MEM_REGION_MEM1	     0x09
#define PERCH_MEM_REGION_MEM2	     0x0a
#define PERCH_MEM_REGION_MEM3	     0x0b
#define PERCH_MEM_REGION_MEM4	     0x0c
#define PERCH_MEM_REGION_MEM5	     0x0d
#define PERCH_MEM_REGION_MEM6	     0x0e
#define PERCH_MEM_REGION_MEM7	     0x0f
#define PERCH_MEM_REGION_SHIFT	     46

/** Shifts a value to its field: PERCH_MEM_S(OP, LOAD) | PERCH_MEM_S(LVLNUM, L2). */
#define PERCH_MEM_S(field, value) \
	(((uint64_t)PERCH_MEM_##field##_##value) << PERCH_MEM_##field##_SHIFT)

#ifdef __cplusplus
}
#endif
#endif
