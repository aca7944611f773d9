/* SPDX-License-Identifier: MIT */
/* The fields of each record type that perf adds to a file. */
#include "fields.h"

/* clang-format off */
#define NUMBER(name, size)	{ name, PERCH_FIELD_NUMBER, size, NULL, 0 }
#define SIGNED(name, size)	{ name, PERCH_FIELD_SIGNED, size, NULL, 0 }
#define HEX(name, size)		{ name, PERCH_FIELD_HEX, size, NULL, 0 }
#define ADDRESS(name)		{ name, PERCH_FIELD_ADDRESS, 8, NULL, 0 }
#define TIME(name)		{ name, PERCH_FIELD_TIME, 8, NULL, 0 }
#define TEXT(name, size)	{ name, PERCH_FIELD_TEXT, size, NULL, 0 }
#define FLAGS(name, size, of)	{ name, PERCH_FIELD_FLAGS, size, of, PERCH__NR(of) }
#define UNUSED(size)		{ NULL, PERCH_FIELD_END, size, NULL, 0 }
/* clang-format on */

static const char *const trace_kinds[] = {
	"",	   "Intel PT",	   "Intel BTS",	    "CoreSight ETM",
	"Arm SPE", "s390 CPU-MSF", "HiSilicon PTT", "VPA DTL",
};
static const char *const error_kinds[] = { "", "instruction trace" };
static const char *const round_types[] = { "INTERVAL", "FINAL" };

static const struct perch__field_format event_type[] = { HEX("event_id", 8), TEXT("name", 64) };
static const struct perch__field_format tracing_data[] = { NUMBER("size", 4), UNUSED(4) };
static const struct perch__field_format build_id[] = { SIGNED("pid", 4) };
static const struct perch__field_format auxtrace_info[] = { FLAGS("type", 4, trace_kinds),
							    UNUSED(4) };
static const struct perch__field_format auxtrace[] = {
	NUMBER("size", 8), HEX("offset", 8), HEX("reference", 8), NUMBER("idx", 4),
	SIGNED("tid", 4),  SIGNED("cpu", 4), UNUSED(4),
};
static const struct perch__field_format auxtrace_error[] = {
	FLAGS("type", 4, error_kinds),
	NUMBER("code", 4),
	SIGNED("cpu", 4),
	SIGNED("pid", 4),
	SIGNED("tid", 4),
};
static const struct perch__field_format stat[] = {
	NUMBER("id", 8),  SIGNED("cpu", 4), SIGNED("thread", 4),
	NUMBER("val", 8), NUMBER("ena", 8), NUMBER("run", 8),
};
static const struct perch__field_format stat_round[] = { FLAGS("type", 8, round_types),
							 TIME("time") };
static const struct perch__field_format time_conv[] = {
	NUMBER("time_shift", 8),
	NUMBER("time_mult", 8),
	NUMBER("time_zero", 8),
	NUMBER("time_cycles", 8),
	HEX("time_mask", 8),
	NUMBER("cap_user_time_zero", 1),
	NUMBER("cap_user_time_short", 1),
	UNUSED(6),
};
static const struct perch__field_format schedstat_cpu[] = { NUMBER("timestamp", 8),
							    NUMBER("cpu", 4) };

/* By record type, from 64 on: fields of fixed size, then a function for the rest. */
static const struct {
	const struct perch__field_format *fields;
	size_t nr;
	void (*rest)(struct perch__emitter *emitter);
} records[] = {
#define RECORD(type, fields, rest) \
	[PERCH_RECORD_##type - PERCH_RECORD_HEADER_ATTR] = { fields, PERCH__NR(fields), rest }
#define VARIABLE(type, rest) [PERCH_RECORD_##type - PERCH_RECORD_HEADER_ATTR] = { NULL, 0, rest }
	VARIABLE(HEADER_ATTR, perch__emit_file_attr_record),
	RECORD(HEADER_EVENT_TYPE, event_type, NULL),
	RECORD(HEADER_TRACING_DATA, tracing_data, NULL),
	RECORD(HEADER_BUILD_ID, build_id, perch__emit_file_build_id),
	VARIABLE(FINISHED_ROUND, NULL),
	VARIABLE(ID_INDEX, perch__emit_file_id_index),
	RECORD(AUXTRACE_INFO, auxtrace_info, perch__emit_file_auxtrace_info),
	RECORD(AUXTRACE, auxtrace, NULL),
	RECORD(AUXTRACE_ERROR, auxtrace_error, perch__emit_file_auxtrace_error),
	VARIABLE(THREAD_MAP, perch__emit_file_thread_map),
	VARIABLE(CPU_MAP, perch__emit_file_cpu_map),
	VARIABLE(STAT_CONFIG, perch__emit_file_stat_config),
	RECORD(STAT, stat, NULL),
	RECORD(STAT_ROUND, stat_round, NULL),
	VARIABLE(EVENT_UPDATE, perch__emit_file_event_update),
	RECORD(TIME_CONV, time_conv, NULL),
	VARIABLE(HEADER_FEATURE, perch__emit_file_feature),
	VARIABLE(COMPRESSED, perch__emit_file_compressed),
	VARIABLE(FINISHED_INIT, NULL),
	VARIABLE(COMPRESSED2, perch__emit_file_compressed2),
	VARIABLE(BPF_METADATA, perch__emit_file_bpf_metadata),
	RECORD(SCHEDSTAT_CPU, schedstat_cpu, perch__emit_file_schedstat_cpu),
	RECORD(SCHEDSTAT_DOMAIN, schedstat_cpu, perch__emit_file_schedstat_domain),
};

/* Emits the bytes without a field, unless they are all 0 (padding). */
static void emit_rest(struct perch__emitter *emitter)
{
	const uint8_t *at = emitter->at;

	while (at < emitter->end && !*at)
		at++;
	if (at < emitter->end)
		perch__emitter_bytes(emitter, "rest", PERCH_FIELD_BYTES, emitter->at,
				     emitter->end - emitter->at);
}

int perch_file_record_fields(struct perch_reader *reader, const struct perch_record *record,
			     perch_field_function *function, void *context)
{
	const uint8_t *bytes = record->bytes;
	uint32_t index = record->type - PERCH_RECORD_HEADER_ATTR;
	struct perch__emitter emitter = {
		.at = bytes + sizeof(struct perch_record_header),
		.end = bytes + record->size,
		.swapped = record->parse_info && record->parse_info->swapped,
		.misc = record->misc,
		.function = function,
		.context = context,
	};

	if (record->type < PERCH_RECORD_HEADER_ATTR)
		return perch_record_fields(record,
					   reader ? perch_reader_arch(reader) : PERCH_ARCH_UNKNOWN,
					   function, context);
	if (record->size < sizeof(struct perch_record_header))
		return 0;
	if (index < PERCH__NR(records)) {
		size_t nr =
			perch__emitter_fields(&emitter, records[index].fields, records[index].nr);

		if (nr == records[index].nr && records[index].rest)
			records[index].rest(&emitter);
	}
	emit_rest(&emitter);
	return emitter.rc;
}
