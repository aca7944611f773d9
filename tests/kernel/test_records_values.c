/* SPDX-License-Identifier: MIT */
/*
 * Values in samples: counts in every read format, raw data of tracepoints, clocks, cgroups; and two
 * events of different sample_type in one ring.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

#include "needs.h"
#include "records.h"

#define TRACING "/sys/kernel/tracing/events/syscalls/"

static volatile uint64_t data[2];

static struct perch_attr breakpoint(volatile uint64_t *at, uint64_t fields)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_BREAKPOINT, 0, fields);

	needs_breakpoints_that_fire();
	attr.exclude_kernel = 1;
	attr.bp_type = PERCH_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)at;
	attr.bp_len = sizeof(*at);
	return attr;
}

struct pair {
	struct live live;
	int other;
	uint64_t other_id;
};

/* Opens a sampling leader and a counting member with this read format. */
static void open_pair(struct pair *pair, uint64_t format)
{
	struct perch_attr attr = breakpoint(&data[0], PERCH_SAMPLE_READ);
	struct perch_attr other = breakpoint(&data[1], PERCH_SAMPLE_READ);
	struct perch_error err = { 0 };

	attr.read_format = other.read_format = format;
	other.sample_period = 0;
	other.disabled = 0;
	record_self(&pair->live, &attr);
	pair->other = perch_open(&other, &perch_self, pair->live.fd, 0, NULL, &err);
	if (pair->other < 0)
		skip_or_fail("the member", pair->other, &err);
	assert_int_equal(perch_event_id(pair->other, NULL, &pair->other_id, NULL), 0);
}

/* Compares the values with the words of read(2). */
static void check_read(const struct pair *pair, const struct perch_read_values *values,
		       const uint64_t *words)
{
	const uint64_t format = pair->live.attr.read_format;
	const bool group = format & PERCH_FORMAT_GROUP;
	size_t at = 1, first = group ? 0 : 1;
	uint64_t nr = group ? words[0] : 1;

	assert_int_equal(values->nr, nr);
	assert_int_equal(nr, group ? 2 : 1);
	if (format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
		assert_true(values->enabled_ns <= words[at++]);
	if (format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
		assert_true(values->running_ns <= words[at++]);
	for (uint64_t i = 0; i < nr; i++) {
		struct perch_read_value value;

		perch_read_values_at(values, i, &value);
		assert_int_equal(value.value, first ? words[0] : words[at++]);
		first = 0;
		assert_int_equal(value.id, format & PERCH_FORMAT_ID ? words[at] : 0);
		if (format & PERCH_FORMAT_ID) {
			assert_int_equal(words[at], i ? pair->other_id : pair->live.id);
			at++;
		}
		assert_int_equal(value.lost, format & PERCH_FORMAT_LOST ? words[at++] : 0);
		assert_int_equal(value.lost, 0);
	}
}

/*
 * The last sample has the same values as read(2) afterwards. The samples before it have smaller
 * values.
 */
static void sample_has_values_of_every_read_format(void **state)
{
	(void)state;
	needs_one_hit_per_write();
	for (uint64_t format = 0; format < PERCH_FORMAT_MAX; format++) {
		struct perch_read_value value;
		uint64_t words[16] = { 0 };
		struct pair pair;

		open_pair(&pair, format);
		live_enable(&pair.live);
		for (int i = 1; i <= 5; i++) {
			data[1] = i;
			data[1] = i;
			data[0] = i;
		}
		record_end(&pair.live);
		assert_int_equal(live_count(&pair.live, PERCH_RECORD_SAMPLE), 5);
		for (uint64_t i = 0; i < 5; i++) {
			const struct perch_read_values *values = &pair.live.record[i].sample.read;

			assert_int_equal(values->format, format);
			perch_read_values_at(values, 0, &value);
			assert_int_equal(value.value, i + 1);
			if (!(format & PERCH_FORMAT_GROUP))
				continue;
			perch_read_values_at(values, 1, &value);
			assert_int_equal(value.value, 2 * (i + 1));
		}
		assert_true(read(pair.live.fd, words, sizeof(words)) > 0);
		check_read(&pair, &pair.live.record[4].sample.read, words);
		close(pair.other);
		live_close(&pair.live);
	}
}

/* Finds the offset and size of a field in the format file of a tracepoint. */
static bool find_field(const char *event, const char *name, unsigned *offset, unsigned *size)
{
	char path[256], line[512], wanted[64];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), TRACING "%s/format", event);
	snprintf(wanted, sizeof(wanted), " %s;", name);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, wanted);

		found = at && sscanf(at + strlen(wanted), " offset:%u; size:%u", offset, size) == 2;
	}
	if (file)
		fclose(file);
	return found;
}

static bool find_id(const char *event, unsigned *id)
{
	char path[256];
	bool found;
	FILE *file;

	snprintf(path, sizeof(path), TRACING "%s/id", event);
	file = fopen(path, "re");
	found = file && fscanf(file, "%u", id) == 1;
	if (file)
		fclose(file);
	return found;
}

static void check_field(const struct perch_sample *sample, const char *event, const char *name,
			uint64_t wanted)
{
	unsigned offset, size;
	uint64_t value = 0;

	assert_true(find_field(event, name, &offset, &size));
	assert_true(size <= 8 && offset + size <= sample->raw.size);
	/* the low bytes are first on little-endian machines and last on big-endian machines */
	memcpy((char *)&value + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 8 - size),
	       (const char *)sample->raw.data + offset, size);
	if (value != wanted)
		fail_msg("%s: %#" PRIx64 ", expected %#" PRIx64, name, value, wanted);
}

static bool in_kernel_text(uint64_t address)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	uint64_t at, from = 0, to = 0;
	char line[512], name[256];

	while (symbols && !(from && to) && fgets(line, sizeof(line), symbols))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &at, name) == 2) {
			from = strcmp(name, "_stext") ? from : at;
			to = strcmp(name, "_etext") ? to : at;
		}
	if (symbols)
		fclose(symbols);
	return from ? address >= from && address < to : (int64_t)address < 0;
}

/*
 * A system call with arguments that no other call has. The sample has the address of the call in
 * user space.
 */
static void tracepoint_sample_has_raw_data(void **state)
{
	struct perch_attr attr = live_sampling(
		PERCH_TYPE_TRACEPOINT, 0,
		PERCH_SAMPLE_RAW | PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_PERIOD);
	const struct perch_record *record;
	struct perch_chain_address address;
	struct perch_chain chain;
	struct live live;
	unsigned id;

	(void)state;
	if (!find_id("sys_enter_dup3", &id)) {
		print_message("skipped: cannot read the tracepoint of dup3\n");
		skip();
	}
	attr.config = id;
	record_self(&live, &attr);
	live_enable(&live);
	assert_int_equal(syscall(SYS_dup3, 0x12345678, 0x23456789, 0x3456789a), -1);
	record_end(&live);
	record = only_record(&live, PERCH_RECORD_SAMPLE);
	assert_written_by(record, getpid(), current_tid());
	check_field(&record->sample, "sys_enter_dup3", "common_type", id);
	check_field(&record->sample, "sys_enter_dup3", "common_pid", current_tid());
	check_field(&record->sample, "sys_enter_dup3", "__syscall_nr", SYS_dup3);
	check_field(&record->sample, "sys_enter_dup3", "oldfd", 0x12345678);
	check_field(&record->sample, "sys_enter_dup3", "newfd", 0x23456789);
	check_field(&record->sample, "sys_enter_dup3", "flags", 0x3456789a);
	assert_int_equal(record->sample.period, 1);
	assert_int_equal(record->misc & PERCH_MISC_CPUMODE_MASK, PERCH_MISC_USER);
	perch_chain_init(&chain, record);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, record->sample.ip);
	assert_int_equal(address.cpumode, PERCH_MISC_USER);
	live_close(&live);
}

/* The call chain of a context switch has kernel functions, then functions of this program. */
static void callchain_has_kernel_and_user_part(void **state)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_CONTEXT_SWITCHES,
					       PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN);
	struct perch_chain_address address;
	const struct perch_record *record;
	size_t kernel = 0, user = 0;
	struct perch_chain chain;
	struct live live;

	(void)state;
	attr.exclude_kernel = attr.exclude_hv = 0;
	record_self(&live, &attr);
	live_enable(&live);
	usleep(5000);
	record_end(&live);
	record = live_next(&live, PERCH_RECORD_SAMPLE, NULL);
	assert_non_null(record);
	assert_int_equal(record->misc & PERCH_MISC_CPUMODE_MASK, PERCH_MISC_KERNEL);
	assert_true(in_kernel_text(record->sample.ip));
	for (perch_chain_init(&chain, record); perch_chain_next(&chain, &address);) {
		if (address.cpumode == PERCH_MISC_KERNEL)
			assert_true(in_kernel_text(address.ip) && !user);
		kernel += address.cpumode == PERCH_MISC_KERNEL;
		user += address.cpumode == PERCH_MISC_USER;
	}
	assert_true(kernel >= 2 && user >= 1);
	/* with a context marker before each part */
	assert_int_equal(kernel + user + 2, record->sample.callchain.nr);
	live_close(&live);
}

/*
 * Some of these clocks are refused for PMUs that use non-maskable interrupts, so the test uses page
 * faults.
 */
static void sample_has_time_of_clock(void **state)
{
	static const int ids[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW,
				   CLOCK_BOOTTIME, CLOCK_TAI };

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct perch_attr attr = live_sampling(
			PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_PAGE_FAULTS_MIN, PERCH_SAMPLE_ADDR);
		char *pages = fresh_pages(2);
		const struct perch_record *first, *second;
		uint64_t before, between;
		struct live live;

		attr.exclude_kernel = 1;
		attr.clockid = ids[i];
		record_self(&live, &attr);
		live_enable(&live);
		before = live_clock(&attr);
		touch(pages, 1);
		between = live_clock(&attr);
		touch(pages + sysconf(_SC_PAGESIZE), 1);
		record_end(&live);
		first = second = live_next(&live, PERCH_RECORD_SAMPLE, NULL);
		while (first && first->sample.addr != (uintptr_t)pages)
			first = live_next(&live, PERCH_RECORD_SAMPLE, first);
		while (second && second->sample.addr != (uintptr_t)pages + sysconf(_SC_PAGESIZE))
			second = live_next(&live, PERCH_RECORD_SAMPLE, second);
		assert_true(first && second);
		assert_in_range(first->sample.time, before, between);
		assert_in_range(second->sample.time, between, live.to);
		drop(pages, 2);
		live_close(&live);
	}
}

/* The id of a cgroup is the inode of its directory. */
static void sample_has_cgroup(void **state)
{
	struct perch_attr attr = breakpoint(&data[0], PERCH_SAMPLE_CGROUP);
	char line[512], mounted[256] = "", path[1024] = "";
	struct live live;
	struct stat st;
	FILE *file;

	(void)state;
	file = fopen("/proc/self/mountinfo", "re");
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, " - cgroup2 "))
			assert_int_equal(sscanf(line, "%*s %*s %*s / %255s", mounted), 1);
	if (file)
		fclose(file);
	file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = 0;
			snprintf(path, sizeof(path), "%s%s", mounted, line + 3);
		}
	if (file)
		fclose(file);
	if (!mounted[0] || !path[0] || stat(path, &st)) {
		print_message("skipped: cannot find the cgroup of this process\n");
		skip();
	}
	record_self(&live, &attr);
	live_enable(&live);
	data[0] = 1;
	record_end(&live);
	assert_int_equal(only_record(&live, PERCH_RECORD_SAMPLE)->sample.cgroup, st.st_ino);
	live_close(&live);
}

/*
 * Two events of different sample_type write to one ring. The decoder finds the event by the id at
 * the start of each sample. The second event is opened with these flags, or redirected afterwards.
 */
static void check_two_sample_types(unsigned long flags)
{
	struct perch_attr attr = breakpoint(&data[0], PERCH_SAMPLE_ADDR),
			  other = breakpoint(&data[1], PERCH_SAMPLE_IP);
	const struct perch_record_header *header;
	struct perch_decoder_event events[2];
	struct perch_decoder *decoder;
	struct perch_error err = { 0 };
	struct perch_record record;
	struct live live, second;
	size_t nr = 0;

	other.sample_type &= ~(uint64_t)(PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_CPU);
	record_self(&live, &attr);
	second = (struct live){ .fd = perch_open(&other, &perch_self, flags ? live.fd : -1, flags,
						 NULL, &err) };
	if (second.fd < 0)
		skip_or_fail("a second breakpoint", second.fd, &err);
	assert_int_equal(perch_event_id(second.fd, NULL, &second.id, NULL), 0);
	if (!flags)
		assert_int_equal(perch_event_set_output(second.fd, live.fd, NULL, NULL), 0);
	events[0] = (struct perch_decoder_event){ &attr, &live.id, 1 };
	events[1] = (struct perch_decoder_event){ &other, &second.id, 1 };
	assert_int_equal(perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, &err), 0);
	live_enable(&live);
	live_enable(&second);
	for (int i = 0; i < 6; i++)
		data[i % 2] = i;
	live_disable(&second);
	live_disable(&live);
	for (; (header = perch_ring_next(live.ring)); nr++) {
		assert_int_equal(perch_decoder_decode(decoder, header, header->size, &record, &err),
				 0);
		assert_int_equal(record.event, nr % 2);
		assert_int_equal(record.trailing_bytes, 0);
		assert_int_equal(record.sample_id.id, nr % 2 ? second.id : live.id);
		assert_int_equal(record.sample.pid, getpid());
		assert_int_equal(record.sample.addr, nr % 2 ? 0 : (uintptr_t)&data[0]);
		assert_int_equal(record.sample.ip != 0, nr % 2);
	}
	assert_int_equal(nr, 6);
	perch_decoder_free(decoder);
	live_close(&second);
	live_close(&live);
}

static void two_sample_types_in_one_ring(void **state)
{
	(void)state;
	needs_one_hit_per_write();
	check_two_sample_types(0);
}

/* perf_event_open(2) of man-pages calls the flag broken since 2.6.35: it is not. */
static void fd_output_shares_the_ring(void **state)
{
	(void)state;
	needs_one_hit_per_write();
	check_two_sample_types(PERCH_FLAG_FD_OUTPUT | PERCH_FLAG_FD_NO_GROUP);
	check_two_sample_types(PERCH_FLAG_FD_OUTPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_has_values_of_every_read_format),
		cmocka_unit_test(tracepoint_sample_has_raw_data),
		cmocka_unit_test(callchain_has_kernel_and_user_part),
		cmocka_unit_test(sample_has_time_of_clock),
		cmocka_unit_test(sample_has_cgroup),
		cmocka_unit_test(two_sample_types_in_one_ring),
		cmocka_unit_test(fd_output_shares_the_ring),
	};

	return RECORDS_RUN(tests);
}
