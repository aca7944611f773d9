/* SPDX-License-Identifier: MIT */
/*
 * The subcommands. Each one has a function that runs it (argv[0] is its name; it returns the exit
 * status) and its usage. main.c has the table of them; no other file calls main.c.
 */
#ifndef PERCH_CLI_COMMANDS_H
#define PERCH_CLI_COMMANDS_H

#include <stddef.h>

struct cli_usage;

int perch_cmd_agent(int argc, char **argv);
int perch_cmd_stat(int argc, char **argv);
/* Messages begin with argv[0], which may be another command that records. */
int perch_cmd_record(int argc, char **argv);
/* The same, of all CPUs unless the options name tasks or CPUs: of a command whose events are not
 * those of a program. argv[1] is "-a", which then counts. */
int perch_cmd_record_all_cpus(int argc, char **argv);
/* Stores the number of events that these arguments name. Returns 0, or the exit status. */
int perch_cmd_record_events(int argc, char **argv, size_t *nr);
int perch_cmd_report(int argc, char **argv);
int perch_cmd_annotate(int argc, char **argv);
int perch_cmd_sched(int argc, char **argv);
int perch_cmd_script(int argc, char **argv);
int perch_cmd_archive(int argc, char **argv);
int perch_cmd_buildid_cache(int argc, char **argv);
int perch_cmd_buildid_list(int argc, char **argv);
int perch_cmd_diff(int argc, char **argv);
int perch_cmd_dump(int argc, char **argv);
int perch_cmd_config(int argc, char **argv);
int perch_cmd_evlist(int argc, char **argv);
int perch_cmd_flamegraph(int argc, char **argv);
int perch_cmd_export(int argc, char **argv);
int perch_cmd_kwork(int argc, char **argv);
int perch_cmd_kmem(int argc, char **argv);
int perch_cmd_block(int argc, char **argv);
int perch_cmd_list(int argc, char **argv);
int perch_cmd_lock(int argc, char **argv);
int perch_cmd_explain(int argc, char **argv);
int perch_cmd_top(int argc, char **argv);
int perch_cmd_trace(int argc, char **argv);
int perch_cmd_doctor(int argc, char **argv);
int perch_cmd_mem(int argc, char **argv);
int perch_cmd_c2c(int argc, char **argv);

extern const struct cli_usage cli_agent_usage;
extern const struct cli_usage cli_stat_usage;
extern const struct cli_usage cli_record_usage;
extern const struct cli_usage cli_report_usage;
extern const struct cli_usage cli_annotate_usage;
extern const struct cli_usage cli_sched_usage;
extern const struct cli_usage cli_script_usage;
extern const struct cli_usage cli_archive_usage;
extern const struct cli_usage cli_buildid_cache_usage;
extern const struct cli_usage cli_buildid_list_usage;
extern const struct cli_usage cli_diff_usage;
extern const struct cli_usage cli_dump_usage;
extern const struct cli_usage cli_config_usage;
extern const struct cli_usage cli_evlist_usage;
extern const struct cli_usage cli_flamegraph_usage;
extern const struct cli_usage cli_export_usage;
extern const struct cli_usage cli_kwork_usage;
extern const struct cli_usage cli_kmem_usage;
extern const struct cli_usage cli_block_usage;
extern const struct cli_usage cli_list_usage;
extern const struct cli_usage cli_lock_usage;
extern const struct cli_usage cli_explain_usage;
extern const struct cli_usage cli_top_usage;
extern const struct cli_usage cli_trace_usage;
extern const struct cli_usage cli_doctor_usage;
extern const struct cli_usage cli_mem_usage;
extern const struct cli_usage cli_c2c_usage;

#endif
