/* SPDX-License-Identifier: MIT */
/* Tests the fields of perf.data's own records: each type, in both byte orders, complete and
 * truncated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <perch/file.h>
#include "build_record.h"

struct output {
	char text[8192];
	size_t used;
	int stop_after; /* fields; 0: never */
	int fields, depth;
};

__attribute__((format(printf, 2, 3))) static void append(struct output *output, const char *format,
							 ...)
{
	va_list list;

	va_start(list, format);
	output->used += vsnprintf(output->text + output->used, sizeof(output->text) - output->used,
				  format, list);
	va_end(list);
	assert_true(output->used < sizeof(output->text));
}

/* "name=1 name=0x1f list[2](1 2 ) group{a=1 }" */
static int append_field(void *context, const struct perch_field *field)
{
	struct output *output = context;
	const char *name = field->name ? field->name : "", *is = field->name ? "=" : "";

	output->fields++;
	switch (field->kind) {
	case PERCH_FIELD_END:
		append(output, ") ");
		output->depth--;
		break;
	case PERCH_FIELD_LIST:
		append(output, "%s[%llu](", name, (unsigned long long)field->value);
		output->depth++;
		break;
	case PERCH_FIELD_GROUP:
		append(output, "%s(", name);
		output->depth++;
		break;
	case PERCH_FIELD_SIGNED:
		append(output, "%s%s%lld ", name, is, (long long)field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
		append(output, "%s%s0x%llx ", name, is, (unsigned long long)field->value);
		break;
	case PERCH_FIELD_FLAGS:
		append(output, "%s%s%llu:%.*s ", name, is, (unsigned long long)field->value,
		       (int)field->length, field->text);
		break;
	case PERCH_FIELD_TEXT:
		append(output, "%s%s'%.*s' ", name, is, (int)field->length, field->text);
		break;
	case PERCH_FIELD_BYTES:
		append(output, "%s%s<%zu> ", name, is, field->length);
		break;
	default:
		append(output, "%s%s%llu ", name, is, (unsigned long long)field->value);
	}
	return output->stop_after && output->fields >= output->stop_after ? 7 : 0;
}

/* Formats the fields of the first `size` bytes. They are copied to memory of that size, so
 * sanitizers detect reads beyond the end. */
static int format_fields(struct output *output, const struct built *built, size_t size)
{
	struct perch_parse_info parse_info = { .swapped = built_swapped };
	void *bytes = NULL;
	struct perch_record record = { .size = size, .parse_info = &parse_info };
	struct perch_record_header header;
	int rc;

	assert_int_equal(posix_memalign(&bytes, 8, size), 0);
	memcpy(bytes, built->bytes, size);
	memcpy(&header, bytes, sizeof(header));
	record.type = built_swapped ? __builtin_bswap32(header.type) : header.type;
	record.misc = built_swapped ? __builtin_bswap16(header.misc) : header.misc;
	record.bytes = bytes;
	rc = perch_file_record_fields(NULL, &record, append_field, output);
	free(bytes);
	return rc;
}

typedef void build_function(struct built *built);

/* Both byte orders have equal fields. Truncated records are not read beyond the end, and all lists
 * are closed. */
static void check(build_function *build, const char *expected)
{
	static struct built built;
	static struct output output;

	for (int order = 0; order < 2; order++) {
		built_swapped = order;
		build(&built);
		end_record(&built);
		memset(&output, 0, sizeof(output));
		assert_int_equal(format_fields(&output, &built, built.size), 0);
		assert_string_equal(output.text, expected);
		for (size_t size = 8; size <= built.size; size++) {
			memset(&output, 0, sizeof(output));
			assert_int_equal(format_fields(&output, &built, size), 0);
			assert_int_equal(output.depth, 0);
		}
		for (int stop = 1; order == 0 && stop <= 3 && expected[0]; stop++) {
			memset(&output, 0, sizeof(output));
			output.stop_after = stop;
			if (format_fields(&output, &built, built.size))
				assert_int_equal(output.fields, stop);
		}
	}
	built_swapped = false;
}

/* ---- attrs, build ids, features ---- */

static void build_attr(struct built *built)
{
	start_record(built, PERCH_RECORD_HEADER_ATTR, 0);
	put_u32(built, PERCH_TYPE_SOFTWARE);
	put_u32(built, 64);
	put_u64(built, 2);
	put_u64(built, 5000); /* sample_period */
	put_u64(built, PERCH_SAMPLE_IP | PERCH_SAMPLE_TID);
	put_u64(built, PERCH_FORMAT_ID);
	/* disabled is the first bit in the bit order of the writing machine */
	put_u64(built, built_swapped ? 1ull << 63 : 1);
	put_u64(built, 0); /* wakeup, bp_type */
	put_u64(built, 0);
	put_u64(built, 11);
	put_u64(built, 12);
}

static void emits_attr(void **state)
{
	(void)state;
	check(build_attr,
	      "attr(type=1 size=64 config=0x2 sample_period=5000 sample_type=3:IP|TID read_format=4:ID disabled=1 ) "
	      "id[2](11 12 ) ");
}

static void build_event_type(struct built *built)
{
	start_record(built, PERCH_RECORD_HEADER_EVENT_TYPE, 0);
	put_u64(built, 0x10);
	put_bytes(built, "cycles\0rest", 11);
	built->size += 64 - 11;
}

static void build_tracing(struct built *built)
{
	start_record(built, PERCH_RECORD_HEADER_TRACING_DATA, 0);
	put_u32(built, 4096);
}

static void build_id(struct built *built)
{
	start_record(built, PERCH_RECORD_HEADER_BUILD_ID, 0x8000 | PERCH_MISC_USER);
	put_u32(built, (uint32_t)-1);
	put_bytes(built, "\1\2\3\4\5\6\7\10\1\2\3\4\5\6\7\10\0\0\0\0", 20);
	put_bytes(built, "\20\0\0\0", 4);
	put_name(built, "/bin/sh");
}

static void build_old_id(struct built *built)
{
	build_id(built);
	/* without the misc bit the size byte is not valid */
	built->bytes[4] = built->bytes[5] = 0;
}

static void build_feature(struct built *built)
{
	start_record(built, PERCH_RECORD_HEADER_FEATURE, 0);
	put_u64(built, PERCH_FEATURE_NRCPUS);
	put_u64(built, 1);
}

static void build_text_feature(struct built *built)
{
	start_record(built, PERCH_RECORD_HEADER_FEATURE, 0);
	put_u64(built, PERCH_FEATURE_HOSTNAME);
	put_u32(built, 8);
	put_bytes(built, "here\0\0\0\0", 8);
}

/* The last record of a perf version with 32 features. */
static void build_last_feature(struct built *built)
{
	start_record(built, PERCH_RECORD_HEADER_FEATURE, 0);
	put_u64(built, 32);
}

static void emits_header_records(void **state)
{
	(void)state;
	check(build_event_type, "event_id=0x10 name='cycles' ");
	check(build_tracing, "size=4096 ");
	check(build_id, "pid=-1 build_id=<16> filename='/bin/sh' ");
	check(build_old_id, "pid=-1 build_id=<20> filename='/bin/sh' ");
	check(build_feature, "feat_id=7:NRCPUS data=<8> ");
	check(build_text_feature, "feat_id=3:HOSTNAME text='here' ");
	check(build_last_feature, "feat_id=32:END data=<0> ");
}

static void build_unit(struct built *built)
{
	start_record(built, PERCH_RECORD_EVENT_UPDATE, 0);
	put_u64(built, 0);
	put_u64(built, 9);
	put_name(built, "msec");
}

static void build_scale(struct built *built)
{
	double scale = 0.25;
	uint64_t bits;

	memcpy(&bits, &scale, sizeof(bits));
	start_record(built, PERCH_RECORD_EVENT_UPDATE, 0);
	put_u64(built, 1);
	put_u64(built, 9);
	put_u64(built, bits);
}

static void build_own_cpus(struct built *built)
{
	start_record(built, PERCH_RECORD_EVENT_UPDATE, 0);
	put_u64(built, 3);
	put_u64(built, 9);
	put_u16(built, 0);
	put_u16(built, 1);
	put_u16(built, 4);
}

static void emits_event_updates(void **state)
{
	(void)state;
	check(build_unit, "type=0:UNIT id=9 unit='msec' ");
	check(build_scale, "type=1:SCALE id=9 scale='0.25' ");
	check(build_own_cpus, "type=3:CPUS id=9 cpus(type=0:CPUS nr=1 cpus[1](4 ) ) ");
}

/* ---- threads and CPUs ---- */

static void build_index(struct built *built)
{
	start_record(built, PERCH_RECORD_ID_INDEX, 0);
	put_u64(built, 2);
	for (uint64_t i = 0; i < 2; i++) {
		put_u64(built, 100 + i);
		put_u64(built, i);
		put_u64(built, i);
		put_u64(built, (uint64_t)-1);
	}
}

static void build_guests(struct built *built)
{
	build_index(built);
	for (uint64_t i = 0; i < 2; i++) {
		put_u64(built, 55);
		put_u64(built, i);
	}
}

static void build_threads(struct built *built)
{
	start_record(built, PERCH_RECORD_THREAD_MAP, 0);
	put_u64(built, 2);
	put_u64(built, (uint64_t)-1);
	put_bytes(built, "sixteen letters!", 16);
	put_u64(built, 5);
	put_bytes(built, "sh\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

static void emits_thread_maps(void **state)
{
	(void)state;
	check(build_index,
	      "nr=2 entries[2]((id=100 idx=0 cpu=0 tid=-1 ) (id=101 idx=1 cpu=1 tid=-1 ) ) ");
	check(build_guests,
	      "nr=2 entries[2]((id=100 idx=0 cpu=0 tid=-1 ) (id=101 idx=1 cpu=1 tid=-1 ) ) "
	      "guests[2]((machine_pid=55 vcpu=0 ) (machine_pid=55 vcpu=1 ) ) ");
	check(build_threads,
	      "nr=2 entries[2]((pid=-1 comm='sixteen letters!' ) (pid=5 comm='sh' ) ) ");
}

static void build_cpus(struct built *built)
{
	start_record(built, PERCH_RECORD_CPU_MAP, 0);
	put_u16(built, 0);
	put_u16(built, 3);
	put_u16(built, 0xffff);
	put_u16(built, 0);
	put_u16(built, 300);
}

static void build_mask64(struct built *built)
{
	start_record(built, PERCH_RECORD_CPU_MAP, 0);
	put_u16(built, 1);
	put_u16(built, 2);
	put_u16(built, 8);
	put_u32(built, 0);
	put_u64(built, 1ull << 63 | 2);
	put_u64(built, 1);
}

static void build_mask32(struct built *built)
{
	start_record(built, PERCH_RECORD_CPU_MAP, 0);
	put_u16(built, 1);
	put_u16(built, 2);
	put_u16(built, 4);
	put_u32(built, 1u << 31);
	put_u32(built, 5);
}

static void build_range(struct built *built)
{
	start_record(built, PERCH_RECORD_CPU_MAP, 0);
	put_u16(built, 2);
	put_bytes(built, "\1", 2);
	put_u16(built, 6);
	put_u16(built, 8);
}

static void build_wrong_range(struct built *built)
{
	start_record(built, PERCH_RECORD_CPU_MAP, 0);
	put_u16(built, 2);
	put_u16(built, 0);
	put_u16(built, 8);
	put_u16(built, 6);
}

static void build_wrong_mask(struct built *built)
{
	start_record(built, PERCH_RECORD_CPU_MAP, 0);
	put_u16(built, 1);
	put_u16(built, 1);
	put_u16(built, 3);
	put_u64(built, 7);
}

static void build_many_cpus(struct built *built)
{
	start_record(built, PERCH_RECORD_CPU_MAP, 0);
	put_u16(built, 0);
	put_u16(built, 60000);
	put_u32(built, 0);
}

static void emits_cpu_maps(void **state)
{
	(void)state;
	check(build_cpus, "type=0:CPUS nr=3 cpus[3](-1 0 300 ) ");
	check(build_mask64, "type=1:MASK nr=2 long_size=8 cpus[3](1 63 64 ) ");
	check(build_mask32, "type=1:MASK nr=2 long_size=4 cpus[3](31 32 34 ) ");
	check(build_range, "type=2:RANGE any_cpu=1 start_cpu=6 end_cpu=8 cpus[4](-1 6 7 8 ) ");
	check(build_wrong_range, "type=2:RANGE any_cpu=0 start_cpu=8 end_cpu=6 cpus[0]() ");
	check(build_wrong_mask, "type=1:MASK nr=1 long_size=3 rest=<8> ");
	check(build_many_cpus, "type=0:CPUS nr=60000 cpus[2](0 0 ) ");
}

/* ---- counts ---- */

static void build_config(struct built *built)
{
	start_record(built, PERCH_RECORD_STAT_CONFIG, 0);
	put_u64(built, 2);
	put_u64(built, 1);
	put_u64(built, 1000);
	put_u64(built, 9);
	put_u64(built, 4);
}

static void build_stat(struct built *built)
{
	start_record(built, PERCH_RECORD_STAT, 0);
	put_u64(built, 7);
	put_u32(built, (uint32_t)-1);
	put_u32(built, 0);
	put_u64(built, UINT64_MAX);
	put_u64(built, 20);
	put_u64(built, 10);
}

static void build_round(struct built *built)
{
	start_record(built, PERCH_RECORD_STAT_ROUND, 0);
	put_u64(built, 1);
	put_u64(built, 555);
}

static void build_conversion(struct built *built)
{
	start_record(built, PERCH_RECORD_TIME_CONV, 0);
	for (uint64_t i = 1; i <= 5; i++)
		put_u64(built, i);
	put_bytes(built, "\1\0\0\0\0\0\0\0", 8);
}

static void emits_stat_records(void **state)
{
	(void)state;
	check(build_config, "nr=2 data[2]((tag=1:INTERVAL val=1000 ) (tag=9: val=4 ) ) ");
	check(build_stat, "id=7 cpu=-1 thread=0 val=18446744073709551615 ena=20 run=10 ");
	check(build_round, "type=1:FINAL time=555 ");
	check(build_conversion,
	      "time_shift=1 time_mult=2 time_zero=3 time_cycles=4 time_mask=0x5 cap_user_time_zero=1 "
	      "cap_user_time_short=0 ");
}

/* ---- traces ---- */

static void build_info(struct built *built)
{
	start_record(built, PERCH_RECORD_AUXTRACE_INFO, 0);
	put_u32(built, 1);
	put_u32(built, 0);
	put_u64(built, 6);
	put_u64(built, 0x400);
}

static void build_trace(struct built *built)
{
	start_record(built, PERCH_RECORD_AUXTRACE, 0);
	put_u64(built, 4096);
	put_u64(built, 0x20);
	put_u64(built, 0x30);
	put_u32(built, 2);
	put_u32(built, (uint32_t)-1);
	put_u32(built, 3);
	put_u32(built, 0);
}

static void build_error(struct built *built, uint32_t format)
{
	start_record(built, PERCH_RECORD_AUXTRACE_ERROR, 0);
	put_u32(built, 1);
	put_u32(built, 5);
	put_u32(built, 3);
	put_u32(built, 40);
	put_u32(built, 41);
	put_u32(built, format);
	put_u64(built, 0x401000);
	if (format)
		put_u64(built, 99);
	put_bytes(built, "Overflow packet", 16);
	built->size += 64 - 16;
	if (format > 1) {
		put_u32(built, 70);
		put_u32(built, 1);
	}
}

static void build_error0(struct built *built)
{
	build_error(built, 0);
}

static void build_error2(struct built *built)
{
	build_error(built, 2);
}

static void emits_auxtrace_records(void **state)
{
	(void)state;
	check(build_info, "type=1:Intel PT priv[2](0x6 0x400 ) ");
	check(build_trace, "size=4096 offset=0x20 reference=0x30 idx=2 tid=-1 cpu=3 ");
	check(build_error0,
	      "type=1:instruction trace code=5 cpu=3 pid=40 tid=41 fmt=0 ip=0x401000 msg='Overflow packet' ");
	check(build_error2,
	      "type=1:instruction trace code=5 cpu=3 pid=40 tid=41 fmt=2 ip=0x401000 time=99 "
	      "msg='Overflow packet' machine_pid=70 vcpu=1 ");
}

/* ---- other types ---- */

static void build_round_end(struct built *built)
{
	start_record(built, PERCH_RECORD_FINISHED_ROUND, 0);
}

static void build_packed(struct built *built)
{
	start_record(built, PERCH_RECORD_COMPRESSED, 0);
	put_u64(built, UINT64_MAX);
}

static void build_packed2(struct built *built)
{
	start_record(built, PERCH_RECORD_COMPRESSED2, 0);
	put_u64(built, 3);
	put_bytes(built, "abc\0\0\0\0\0", 8);
}

static void build_bpf(struct built *built)
{
	start_record(built, PERCH_RECORD_BPF_METADATA, 0);
	put_bytes(built, "prog", 4);
	built->size = 8 + 512;
	put_u64(built, 1);
	put_bytes(built, "key", 3);
	built->size += 64 - 3;
	put_bytes(built, "value", 5);
	built->size += 256 - 5;
	put_u64(built, 0); /* in place of a sample id */
}

static void build_unknown(struct built *built)
{
	start_record(built, 200, 0);
	put_u64(built, 1ull << 32);
}

static void build_schedstat(struct built *built)
{
	start_record(built, PERCH_RECORD_SCHEDSTAT_CPU, 0);
	put_u64(built, 4);
	put_u32(built, 1);
	put_u16(built, 17);
	put_u16(built, 0);
	for (uint32_t i = 0; i < 6; i++)
		put_u32(built, i);
	for (uint64_t i = 6; i < 9; i++)
		put_u64(built, i);
}

static void build_domain(struct built *built, uint16_t version, uint32_t words)
{
	start_record(built, PERCH_RECORD_SCHEDSTAT_DOMAIN, 0);
	put_u64(built, 4);
	put_u32(built, 1);
	put_u16(built, version);
	put_u16(built, 2);
	for (uint32_t i = 0; i < words; i++)
		put_u32(built, i);
}

static void build_domain15(struct built *built)
{
	build_domain(built, 15, 3 * 8 + 12);
}

static void build_domain99(struct built *built)
{
	build_domain(built, 99, 2);
}

static void emits_other_records(void **state)
{
	(void)state;
	check(build_round_end, "");
	check(build_packed, "data_size=8 ");
	check(build_packed2, "data_size=3 ");
	check(build_bpf, "prog_name='prog' nr_entries=1 entries[1]((key='key' value='value' ) ) ");
	check(build_unknown, "rest=<8> ");
}

static void emits_schedstat_records(void **state)
{
	(void)state;
	check(build_schedstat,
	      "timestamp=4 cpu=1 version=17 yld_count=0 array_exp=1 sched_count=2 sched_goidle=3 ttwu_count=4 "
	      "ttwu_local=5 rq_cpu_time=6 run_delay=7 pcount=8 ");
	check(build_domain15,
	      "timestamp=4 cpu=1 version=15 domain=2 idle_lb_count=0 idle_lb_balanced=1 idle_lb_failed=2 idle_lb_imbalance=3 "
	      "idle_lb_gained=4 idle_lb_hot_gained=5 idle_lb_nobusyq=6 idle_lb_nobusyg=7 busy_lb_count=8 busy_lb_balanced=9 "
	      "busy_lb_failed=10 busy_lb_imbalance=11 busy_lb_gained=12 busy_lb_hot_gained=13 busy_lb_nobusyq=14 "
	      "busy_lb_nobusyg=15 newidle_lb_count=16 newidle_lb_balanced=17 newidle_lb_failed=18 newidle_lb_imbalance=19 "
	      "newidle_lb_gained=20 newidle_lb_hot_gained=21 newidle_lb_nobusyq=22 newidle_lb_nobusyg=23 alb_count=24 "
	      "alb_failed=25 alb_pushed=26 sbe_count=27 sbe_balanced=28 sbe_pushed=29 sbf_count=30 sbf_balanced=31 "
	      "sbf_pushed=32 ttwu_wake_remote=33 ttwu_move_affine=34 ttwu_move_balance=35 ");
	check(build_domain99, "timestamp=4 cpu=1 version=99 domain=2 rest=<8> ");
}

static void passes_on_kernel_records(void **state)
{
	static struct built built;
	static struct output output;
	struct perch_attr attr = { .size = sizeof(attr) };
	struct perch_parse_info parse_info;
	struct perch_record record;

	(void)state;
	start_record(&built, PERCH_RECORD_LOST, 0);
	put_u64(&built, 5);
	put_u64(&built, 6);
	end_record(&built);
	perch_parse_info_init(&parse_info, &attr, PERCH_BYTES_NATIVE);
	assert_int_equal(perch_record_decode(&record, &parse_info, built.bytes, built.size, NULL),
			 0);
	assert_int_equal(perch_file_record_fields(NULL, &record, append_field, &output), 0);
	assert_string_equal(output.text, "id=5 lost=6 ");
}

/* A word with several names has the one that applies to the event. Bits without a name are printed
 * as a number. */
static void names_attr_fields(void **state)
{
	static const struct {
		struct perch_attr attr;
		const char *expected;
	} cases[] = {
		{ { .type = PERCH_TYPE_RAW,
		    .size = 128,
		    .config = 0x1c2,
		    .sample_freq = 99,
		    .freq = 1,
		    .config1 = 7,
		    .sample_type = PERCH_SAMPLE_IP | UINT64_C(1) << 40,
		    .wakeup_watermark = 64,
		    .watermark = 1 },
		  "type=4 size=128 config=0x1c2 sample_freq=99 sample_type=1099511627777:IP|0x10000000000 freq=1 "
		  "watermark=1 wakeup_watermark=64 config1=0x7 " },
		{ { .type = PERCH_TYPE_BREAKPOINT,
		    .sample_period = 1,
		    .wakeup_events = 2,
		    .bp_type = 3,
		    .bp_addr = 0x1000,
		    .bp_len = 8,
		    .use_clockid = 1,
		    .clockid = -5 },
		  "type=5 size=0 config=0x0 sample_period=1 use_clockid=1 wakeup_events=2 bp_type=3 bp_addr=0x1000 bp_len=8 "
		  "clockid=-5 " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct output output = { 0 };

		assert_int_equal(perch_attr_each_field(&cases[i].attr, append_field, &output), 0);
		assert_string_equal(output.text, cases[i].expected);
		output = (struct output){ .stop_after = 2 };
		assert_int_equal(perch_attr_each_field(&cases[i].attr, append_field, &output), 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(emits_attr),
		cmocka_unit_test(emits_header_records),
		cmocka_unit_test(emits_event_updates),
		cmocka_unit_test(emits_thread_maps),
		cmocka_unit_test(emits_cpu_maps),
		cmocka_unit_test(emits_stat_records),
		cmocka_unit_test(emits_auxtrace_records),
		cmocka_unit_test(emits_other_records),
		cmocka_unit_test(emits_schedstat_records),
		cmocka_unit_test(passes_on_kernel_records),
		cmocka_unit_test(names_attr_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
