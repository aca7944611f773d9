/* SPDX-License-Identifier: MIT */
/* Formats of the tracepoints that a timeline uses, as Linux 6.1 has them. */
#ifndef TIMELINE_FORMATS_H
#define TIMELINE_FORMATS_H

/* Indexes of events: perch_record.event. */
enum {
	EVENT_NONE,
	EVENT_SWITCH,
	EVENT_WAKING,
	EVENT_WAKEUP_NEW,
	EVENT_MIGRATE,
	EVENT_FORK,
	EVENT_EXIT,
	EVENTS,
};

#define WOKEN_FORMAT                                           \
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n" \
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"  \
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
#define STATES                                                                                 \
	"print fmt: \"%s\", (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, " \
	"\"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, "         \
	"{ 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, "                \
	"{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", "                              \
	"REC->prev_state & 0x100 ? \"+\" : \"\"\n"

static const char *const timeline_formats[EVENTS] = {
	[EVENT_SWITCH] = "name: sched_switch\nID: 1\nformat:\n"
			 "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			 "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			 "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
			 "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
			 "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
			 "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
			 "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n" STATES,
	[EVENT_WAKING] = "name: sched_waking\nID: 2\nformat:\n" WOKEN_FORMAT,
	[EVENT_WAKEUP_NEW] = "name: sched_wakeup_new\nID: 3\nformat:\n" WOKEN_FORMAT,
	[EVENT_MIGRATE] = "name: sched_migrate_task\nID: 4\nformat:\n"
			  "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			  "\tfield:int orig_cpu;\toffset:28;\tsize:4;\tsigned:1;\n"
			  "\tfield:int dest_cpu;\toffset:32;\tsize:4;\tsigned:1;\n",
	[EVENT_FORK] = "name: sched_process_fork\nID: 5\nformat:\n"
		       "\tfield:pid_t parent_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		       "\tfield:pid_t child_pid;\toffset:28;\tsize:4;\tsigned:1;\n",
	[EVENT_EXIT] = "name: sched_process_exit\nID: 6\nformat:\n"
		       "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n",
};

#endif
