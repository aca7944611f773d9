/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include "options.h"
#include "perf_names.h"

/* Commands of perf without one of the same name, and what to use instead. */
static const struct {
	const char *command, *hint;
} commands[] = {
	{ "bench",
	  "perch measures recordings, not machines; 'perch stat -r N PROGRAM' repeats one" },
	{ "check",
	  "'perch doctor' says what works on this machine, 'perch version' what is built in" },
	{ "daemon",
	  "'perch agent' profiles a machine all the time; 'perch record -a --switch-output=TIME' writes files" },
	{ "data", "'perch script -j' prints records as JSON, 'perch export' writes other formats" },
	{ "ftrace", "'perch record -e' records tracepoints and probes, see perch-events(7)" },
	{ "inject", "'perch report' reads jitdumps and build ids of a recording without it" },
	{ "iostat",
	  "'perch list uncore' lists the events of units that 'perch stat -a -e' counts" },
	{ "kallsyms", "'grep -w NAME /proc/kallsyms' prints the address of a function" },
	{ "kvm", "'perch record -e kvm:*' records its tracepoints, 'perch script' prints them" },
	{ "probe",
	  "a probe is an event (perch record -e uprobe:libc:malloc), and 'perch list -x libc' lists what can be probed" },
	{ "test", "'perch doctor' checks what works on this machine" },
	{ "timechart",
	  "'perch record -a -c 1 -e sched:sched_switch,sched:sched_waking' and 'perch export --format perfetto' show CPUs and threads by time" },
};

#define DUMP	    "'perch dump --time' prints all records of a file"
#define TRACEPOINTS "tracepoints are recorded without BPF, each of them counts"
#define AUX	    "AUX areas are not recorded; --overwrite keeps the newest samples"
#define TRACES	    "instruction traces are not decoded"
#define OUTPUT	    "the output is standard output: '> FILE' writes it to a file"
#define TYPES \
	"types of data are not found; 'perch report --mem-mode -s symbol_daddr' prints variables"
#define SCRIPTS "perch starts no scripts; 'perch script -j' prints JSON for them"
#define FILTERS \
	"--filter, --parent and other options select samples, and -j prints JSON for programs"

#define METRICS \
	"metrics are formulas that only perf has built in; count the events of the metric with -e"
#define TOPDOWN \
	"'perch list topdown' lists the events of this method, if the CPU has them; count them with -e"
#define BRANCHES "'perch record -b' and 'perch report' show branches"
#define REPORT	 "'perch report' has it, for a recording of 'perch record'"
#define ANNOTATE "'perch annotate' has it, for a recording of 'perch record'"

#define DELAY	 "start the program first, and name its process: 'perch trace -p PID'"
#define FIELDS	 "'perch trace record' and 'perch script --filter EXPR' select by fields"
#define CHAINS	 "'perch trace record -g' and 'perch script --max-stack N' print shorter call chains"
#define SWITCHES "'perch trace record' and 'perch script' have it"
#define MEM_OPTION \
	"it is an option of 'perch mem record' and 'perch mem report', behind these words"
#define PAGE_SIZE \
	"'perch mem record --data-page-size' records it, 'perch mem report -s data_page_size' prints it"
#define LINES	   "each line has a row for each offset, thread and function"
#define C2C_CHAINS "'perch report -g -s symbol_daddr' has call chains, of 'perch c2c record -g'"

#define PFM	   "-e pfm:NAME names an event of libpfm4, see perch-events(7)"
#define GUEST	   "the code of guests is not named; -e EVENT:H leaves out their samples"

/* Options of perf that a command does not have, and what to do instead. An empty name of a command:
 * of each command without the option. */
static const struct {
	const char *command, *option, *hint;
} options[] = {
	{ "record", "--aio", "perch record writes large blocks by write(2)" },
	{ "record", "-S", AUX },
	{ "record", "--snapshot", AUX },
	{ "record", "--aux-sample", AUX },
	{ "record", "--clang-opt", "programs of BPF are not compiled" },
	{ "record", "--clang-path", "programs of BPF are not compiled" },
	{ "record", "--setup-filter", "--filter selects samples of tracepoints, without BPF" },
	{ "record", "--debuginfod", "perch report asks the servers in DEBUGINFOD_URLS" },
	{ "record", "--group", "braces make a group: -e '{cycles,instructions}'" },
	{ "record", "--kcore", "perch annotate reads the kernel's code from /proc/kcore" },
	{ "record", "--mmap-flush",
	  "rings are written when they are half full, or after 0.2 second; -m sets their size" },
	{ "record", "--no-buffering", "'perch top' shows samples while they are taken" },
	{ "record", "--num-thread-synthesize", "one thread reads /proc" },
	{ "record", "--sample-mem-info", "-d -W records data sources and weights" },
	{ "record", "--vmlinux", "perch report -k FILE reads it" },
	{ "record", "--bpf-aux-pause", AUX },
	{ "record", "--pfm-events", PFM },
	{ "record", "-f", "an existing file is replaced without it" },
	{ "record", "--force", "an existing file is replaced without it" },
	{ "record", "-A", "each recording is a file of its own; 'perch diff' compares two" },
	{ "record", "--append", "each recording is a file of its own; 'perch diff' compares two" },
	{ "record", "-l", "counts of multiplexed events are always scaled" },

	{ "stat", "-g", "braces make a group: -e '{cycles,instructions}'" },
	{ "stat", "--group", "braces make a group: -e '{cycles,instructions}'" },
	{ "stat", "--topdown", TOPDOWN },
	{ "stat", "--td-level", TOPDOWN },
	{ "stat", "--metric-no-group", METRICS },
	{ "stat", "--metric-no-merge", METRICS },
	{ "stat", "--metric-no-threshold", METRICS },
	{ "stat", "--record-tpebs", METRICS },
	{ "stat", "--tpebs-mode", METRICS },
	{ "stat", "--smi-cost", "-e msr/smi/,msr/aperf/,cycles counts what it is computed from" },
	{ "stat", "-T", "'perch list tx' lists the events of transactions that -e counts" },
	{ "stat", "--transaction",
	  "'perch list tx' lists the events of transactions that -e counts" },
	{ "stat", "--bpf-counters", "events are counted without BPF" },
	{ "stat", "--bpf-prog", "events are counted without BPF" },
	{ "stat", "-b", "events are counted without BPF" },
	{ "stat", "--bpf-attr-map", "events are counted without BPF" },
	{ "stat", "-H", "the PMUs of a CPU are added up, and --no-merge prints each" },
	{ "stat", "--hybrid-merge", "the PMUs of a CPU are added up, and --no-merge prints each" },
	{ "stat", "--iostat", "'perch list uncore' lists the events of units that -a -e counts" },
	{ "stat", "--no-affinity", "counts are read without a move to their CPU" },
	{ "stat", "--pfm-events", PFM },
	{ "stat", "--cputype", "name the PMU: -e cpu_core/cycles/" },
	{ "stat", "--pmu-filter", "name the PMU: -e PMU/EVENT/" },
	{ "stat", "--per-cache", "--per-core and --per-die add up by core and die" },
	{ "stat", "--per-cluster", "--per-core and --per-die add up by core and die" },
	{ "stat", "--percore-show-thread", "-A prints one line per CPU" },

	{ "top", "--all-cgroups",
	  "'perch record --all-cgroups' and 'perch report -s cgroup' show cgroups" },
	{ "top", "--namespaces",
	  "'perch record --namespaces' and 'perch report -s cgroup_id' show them" },
	{ "top", "-b", BRANCHES },
	{ "top", "--branch-any", BRANCHES },
	{ "top", "-j", BRANCHES },
	{ "top", "--branch-filter", BRANCHES },
	{ "top", "--branch-history", REPORT },
	{ "top", "--raw-trace", REPORT },
	{ "top", "-H", "'perch report --hierarchy' has it, for a recording of 'perch record'" },
	{ "top", "--hierarchy", REPORT },
	{ "top", "--switch-on", REPORT },
	{ "top", "--switch-off", REPORT },
	{ "top", "--show-on-off-events", REPORT },
	{ "top", "--ignore-vmlinux", REPORT },
	{ "top", "--demangle-kernel", REPORT },
	{ "top", "-M", ANNOTATE },
	{ "top", "--disassembler-style", ANNOTATE },
	{ "top", "--asm-raw", ANNOTATE },
	{ "top", "--source", ANNOTATE },
	{ "top", "--prefix", ANNOTATE },
	{ "top", "--prefix-strip", ANNOTATE },
	{ "top", "--sym-annotate", "the key a shows the instructions of the selected function" },
	{ "top", "--objdump", "instructions are decoded by the library capstone" },
	{ "top", "--addr2line", "lines are read without a program" },
	{ "top", "-r", "'chrt -f PRIORITY perch top' sets the priority" },
	{ "top", "--realtime", "'chrt -f PRIORITY perch top' sets the priority" },
	{ "top", "--dump-symtab", "'readelf -sW FILE' prints the symbols of a file" },
	{ "top", "--overwrite", "the rings are read before they are full; -m makes them larger" },
	{ "top", "--stitch-lbr", "call stacks of branch records are shown as they are" },
	{ "top", "--group-sort-idx",
	  "name the event first in -e: rows are sorted by the first one" },
	{ "top", "--data-type", TYPES },
	{ "top", "-W", "'perch record -W' and 'perch report -s local_weight' show weights" },
	{ "top", "--pfm-events", PFM },
	{ "top", "--num-thread-synthesize", "one thread reads /proc" },

	{ "report", "-H", "the option is --hierarchy" },
	{ "report", "--objdump", "instructions are decoded by the library capstone" },
	{ "report", "--socket-filter", "-s socket prints sockets, and -C selects CPUs" },
	{ "report", "--disable-order", "'perch dump' prints records in the order of the file" },
	{ "report", "--pretty",
	  "-T prints the counts of threads, and -j prints rows for programs" },
	{ "report", "--show-ref-call-graph", "rows have the call chains of their own event" },
	{ "report", "--addr2line", "lines are read without a program" },
	{ "report", "--addr2line-style", "lines are read without a program" },
	{ "report", "--unwind-style", "copied stacks are unwound without a library" },
	{ "report", "-o", OUTPUT },
	{ "report", "--output", OUTPUT },

	{ "script", "-d", "'perch dump' prints records with their offsets in the file" },
	{ "script", "--addr2line", "lines are read without a program" },
	{ "script", "--unwind-style", "copied stacks are unwound without a library" },
	{ "script", "--xed", TRACES },
	{ "script", "--insn-trace", TRACES },
	{ "script", "--call-trace", TRACES },
	{ "script", "--call-ret-trace", TRACES },
	{ "script", "-s", SCRIPTS },
	{ "script", "--script", SCRIPTS },
	{ "script", "-g", SCRIPTS },
	{ "script", "--gen-script", SCRIPTS },
	{ "script", "-l", SCRIPTS },
	{ "script", "--list", SCRIPTS },
	{ "script", "--dlfilter", FILTERS },
	{ "script", "--dlarg", FILTERS },
	{ "script", "--list-dlfilters", FILTERS },
	{ "script", "--debug-mode", "'perch dump' prints records with their offsets in the file" },
	{ "script", "--merge-callchains", "the parts of a call chain are always joined" },
	{ "script", "-o", OUTPUT },
	{ "script", "--output", OUTPUT },
	{ "script", "--graph-function",
	  "instruction traces are not decoded; --parent selects samples by their callers" },
	{ "lock", "-b", TRACEPOINTS },
	{ "lock", "--use-bpf", TRACEPOINTS },
	{ "lock", "-M", TRACEPOINTS },
	{ "lock", "--map-nr-entries", TRACEPOINTS },
	{ "lock", "-J", "delays are not injected; 'perch lock contention' measures real ones" },
	{ "lock", "--inject-delay",
	  "delays are not injected; 'perch lock contention' measures real ones" },
	{ "lock", "-G", "'perch lock record -a -G CGROUP' records one cgroup" },
	{ "lock", "--cgroup-filter", "'perch lock record -a -G CGROUP' records one cgroup" },
	{ "lock", "--lock-cgroup", "'perch lock record -a -G CGROUP' records one cgroup" },
	{ "lock", "-D", DUMP },
	{ "lock", "--dump-raw-trace", DUMP },
	{ "lock", "--output", OUTPUT },
	{ "kwork", "-b", TRACEPOINTS },
	{ "kwork", "--use-bpf", TRACEPOINTS },
	{ "kwork", "-g",
	  "'perch kwork record -g' records call chains, 'perch script' prints them" },
	{ "kwork", "--call-graph",
	  "'perch kwork record -g' records call chains, 'perch script' prints them" },
	{ "kwork", "--max-stack",
	  "'perch script --max-stack N' prints call chains of N functions" },
	{ "kwork", "--symfs",
	  "--kallsyms FILE and --vmlinux FILE name the functions of the kernel" },
	{ "kwork", "-v", DUMP },
	{ "kwork", "--verbose", DUMP },
	{ "kwork", "-D", DUMP },
	{ "kwork", "--dump-raw-trace", DUMP },
	{ "kmem", "-v", DUMP },
	{ "kmem", "--verbose", DUMP },
	{ "stat report", "--per-cache", "--per-core and --per-die add up by core and die" },
	{ "stat report", "--per-cluster", "--per-core and --per-die add up by core and die" },
	{ "trace", "-D", DELAY },
	{ "trace", "--delay", DELAY },
	{ "trace", "--bpf-summary", "-s adds up the calls without BPF" },
	{ "trace", "--expr", "-e has the list of calls" },
	{ "trace", "--filter", FIELDS },
	{ "trace", "--filter-pids", "-p and -t name the processes and threads that are wanted" },
	{ "trace", "--force-btf", "perch has tables of the types of arguments" },
	{ "trace", "--kernel-syscall-graph",
	  "'perch record -g -e raw_syscalls:sys_exit' records call chains of the kernel" },
	{ "trace", "--libtraceevent_print",
	  "'perch trace record' and 'perch script' print tracepoints as the kernel does" },
	{ "trace", "--max-stack", CHAINS },
	{ "trace", "--min-stack", CHAINS },
	{ "trace", "--max-summary", "-s -j prints sums for programs, which select" },
	{ "trace", "--print-sample", DUMP },
	{ "trace", "--proc-map-timeout", "mappings of a process are read without a limit" },
	{ "trace", "--sched",
	  "'perch sched record' and 'perch sched timehist' show waits for a CPU" },
	{ "trace", "--show-cpu",
	  "'perch trace record' and 'perch script' print the CPU of each event" },
	{ "trace", "--show-on-off-events", SWITCHES },
	{ "trace", "--switch-on", SWITCHES },
	{ "trace", "--switch-off", SWITCHES },
	{ "trace", "--sort-events", "calls are always printed in the order of time" },
	{ "trace", "--syscalls",
	  "calls are always printed; 'perch record -e page-faults' has page faults alone" },
	{ "trace", "--tool_stats", "lost events are printed at the end" },
	{ "sched map", "--color-cpus", "the map has no colors; --cpus selects CPUs" },
	{ "sched map", "--color-pids", "the map has no colors; -t selects threads" },
	{ "sched map", "--fuzzy-name", "--task-name takes several whole names" },
	{ "sched timehist", "--prio",
	  "--show-prio prints priorities; 'perch script --filter next_prio==N' selects by them" },
	{ "mem", "-C", MEM_OPTION },
	{ "mem", "--cpu", MEM_OPTION },
	{ "mem", "-f", "'perch mem report -f' reads a file of another user" },
	{ "mem", "--force", "'perch mem report -f' reads a file of another user" },
	{ "mem", "-v", MEM_OPTION },
	{ "mem", "--verbose", MEM_OPTION },
	{ "mem", "--data-page-size", PAGE_SIZE },
	{ "record", "-K", "the option is --all-kernel" },
	{ "record", "-U", "the option is --all-user" },
	{ "record", "--ldlat", "'perch mem --ldlat CYCLES record' has it" },
	{ "report", "--phys-data", "'perch mem -p report' prints physical addresses" },
	{ "report", "--type",
	  "'perch mem -t load record' records only loads, -t store only stores" },
	{ "report", "--type-profile", TYPES },
	{ "report", "--data-page-size", PAGE_SIZE },
	{ "report", "--dump-raw-samples", "'perch script' prints each sample" },
	{ "c2c", "-c", LINES },
	{ "c2c", "--coalesce", LINES },
	{ "c2c", "-g", C2C_CHAINS },
	{ "c2c", "--call-graph", C2C_CHAINS },
	{ "c2c", "-M", "'perch annotate' shows the instructions of a function" },
	{ "c2c", "--disassembler-style", "'perch annotate' shows the instructions of a function" },
	{ "c2c", "--objdump", "'perch annotate' shows the instructions of a function" },
	{ "c2c", "-N", "the number of CPUs is printed; --cpu selects those of a node" },
	{ "c2c", "--node-info", "the number of CPUs is printed; --cpu selects those of a node" },
	{ "c2c", "-v", "--show-all prints all lines" },
	{ "c2c", "--verbose", "--show-all prints all lines" },
	{ "c2c", "--double-cl",
	  "each line is printed with its address, which shows pairs of lines" },
	{ "c2c", "--full-symbols", "names are printed whole" },
	{ "c2c", "--stitch-lbr", "call stacks of branch records are shown as they are" },
	{ "diff", "-i", "the recordings are operands: 'perch diff OLD NEW'" },
	{ "diff", "--input", "the recordings are operands: 'perch diff OLD NEW'" },
	{ "diff", "--stream", "'perch diff -g' compares the callers of rows" },
	{ "diff", "--cycles-hist",
	  "'perch report --total-cycles' prints the cycles of basic blocks of a recording" },
	{ "annotate", "--addr2line", "lines are read without a program" },
	{ "annotate", "--skip-empty", "events without samples have no listing" },
	{ "annotate", "--data-type", TYPES },
	{ "annotate", "--type-stat", TYPES },
	{ "annotate", "--insn-stat", TYPES },
	{ "annotate", "--code-with-type", TYPES },
	{ "annotate", "-o", OUTPUT },
	{ "annotate", "--output", OUTPUT },
	{ "list", "--cputype", "'perch list PMU/' lists the events of a PMU" },
	{ "list", "--unit", "'perch list PMU/' lists the events of a PMU" },
	{ "list", "--debug", "-v prints terms, units and scales" },
	{ "list", "--deprecated", "all events that the kernel names are listed" },
	{ "list", "--raw-dump", "-j prints names for programs" },
	{ "list", "-o", OUTPUT },
	{ "list", "--output", OUTPUT },
	{ "config", "--system", "defaults are those of the user; a command line overrides them" },
	{ "", "--guest-code", GUEST },
	{ "", "--guestkallsyms", GUEST },
	{ "", "--guestmodules", GUEST },
	{ "", "--guestmount", GUEST },
	{ "", "--guestvmlinux", GUEST },
	{ "", "--show-kernel-path", "the kernel is [kernel.kallsyms]; -k FILE names a file of it" },
};

const char *cli_perf_command(const char *name)
{
	for (size_t i = 0; i < CLI_NR(commands); i++)
		if (!strcmp(commands[i].command, name))
			return commands[i].hint;
	return NULL;
}

const char *cli_perf_option(const char *command, const char *option, size_t length)
{
	for (size_t i = 0; i < CLI_NR(options); i++)
		if ((!*options[i].command || !strcmp(options[i].command, command)) &&
		    !strncmp(options[i].option, option, length) && !options[i].option[length])
			return options[i].hint;
	return NULL;
}
