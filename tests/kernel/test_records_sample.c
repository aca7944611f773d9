/* SPDX-License-Identifier: MIT */
/*
 * Samples at an instruction with a breakpoint, where the test has set every register, the stack,
 * the callers and the address of the data.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <perch/fields.h>

#include "needs.h"
#include "records.h"

#define REGISTER(n) (UINT64_C(0x1111111111111111) * (n))
#define WORD_1	    UINT64_C(0x0123456789abcdef)
#define WORD_2	    UINT64_C(0xfedcba9876543210)
#define STACK_BYTES 8192 /* more than a stack frame with sanitizers */

uint64_t asm_stack; /* the stack pointer at asm_here */
uint64_t asm_flags; /* the flags at asm_here */
uint64_t asm_frame;
void asm_outer(volatile uint64_t *data);
extern const char asm_here[], asm_back[], asm_stored[];

#ifdef __x86_64__
/*
 * asm_outer calls an inner function; both have frame pointers. The inner function sets all
 * registers, pushes two words, and stores to the data.
 */
__asm__(".text\n"
	".globl asm_outer, asm_here, asm_back, asm_stored\n"
	".type asm_outer, @function\n"
	"asm_outer:\n"
	"	push	%rbp\n"
	"	mov	%rsp, %rbp\n"
	"	call	1f\n"
	"asm_back:\n"
	"	pop	%rbp\n"
	"	ret\n"
	"1:	push	%rbp\n"
	"	mov	%rsp, %rbp\n"
	"	mov	%rsp, asm_frame(%rip)\n"
	"	push	%rbx\n"
	"	push	%r12\n"
	"	push	%r13\n"
	"	push	%r14\n"
	"	push	%r15\n"
	"	movabs	$0x0123456789abcdef, %rax\n"
	"	push	%rax\n"
	"	movabs	$0xfedcba9876543210, %rax\n"
	"	push	%rax\n"
	"	mov	%rsp, asm_stack(%rip)\n"
	"	movabs	$0x1111111111111111, %rax\n"
	"	movabs	$0x2222222222222222, %rbx\n"
	"	movabs	$0x3333333333333333, %rcx\n"
	"	movabs	$0x4444444444444444, %rdx\n"
	"	movabs	$0x5555555555555555, %rsi\n"
	"	movabs	$0x6666666666666666, %r8\n"
	"	movabs	$0x7777777777777777, %r9\n"
	"	movabs	$0x8888888888888888, %r10\n"
	"	movabs	$0x9999999999999999, %r11\n"
	"	movabs	$0xaaaaaaaaaaaaaaaa, %r12\n"
	"	movabs	$0xbbbbbbbbbbbbbbbb, %r13\n"
	"	movabs	$0xcccccccccccccccc, %r14\n"
	"	movabs	$0xdddddddddddddddd, %r15\n"
	"	pushfq\n"
	"	popq	asm_flags(%rip)\n"
	"asm_here:\n"
	"	mov	%rax, (%rdi)\n"
	"asm_stored:\n"
	"	nop\n"
	"	add	$16, %rsp\n"
	"	pop	%r15\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	pop	%rbp\n"
	"	ret\n"
	".size asm_outer, . - asm_outer\n");

/*
 * Expected registers, by the names of perch_register_name(). di is the address of the data; sp and
 * bp are in asm_stack and asm_frame.
 */
static const struct {
	const char *name;
	uint64_t value;
} expected_registers[] = {
	{ "ax", REGISTER(1) },	 { "bx", REGISTER(2) },	  { "cx", REGISTER(3) },
	{ "dx", REGISTER(4) },	 { "si", REGISTER(5) },	  { "r8", REGISTER(6) },
	{ "r9", REGISTER(7) },	 { "r10", REGISTER(8) },  { "r11", REGISTER(9) },
	{ "r12", REGISTER(10) }, { "r13", REGISTER(11) }, { "r14", REGISTER(12) },
	{ "r15", REGISTER(13) },
};
/* all but ds, es, fs and gs, which the kernel does not sample in 64-bit tasks */
#define REGISTERS    UINT64_C(0xff0fff)
#define PUSHED_WORDS 8 /* words between the stack pointer and the return address */

static void skip_without_asm_code(void)
{
}
#else
void asm_outer(volatile uint64_t *data)
{
	*data = asm_stack;
}
const char asm_here[1], asm_back[1], asm_stored[1];
static const struct {
	const char *name;
	uint64_t value;
} expected_registers[] = { { "none", 0 } };
#define REGISTERS    UINT64_C(1)
#define PUSHED_WORDS 0

static void skip_without_asm_code(void)
{
	print_message("skipped: the code that sets all registers is for x86_64\n");
	skip();
}
#endif

static volatile uint64_t data[2];

static uint64_t register_value(const struct perch_record *record,
			       const struct perch_registers *registers, const char *name)
{
	unsigned int at = 0;

	for (unsigned int bit = 0; bit < 64; bit++) {
		const char *asm_name = perch_register_name(perch_arch_here(), bit);

		if (!(registers->mask >> bit & 1))
			continue;
		if (asm_name && !strcmp(asm_name, name))
			return perch_word(record, registers->value + at);
		at++;
	}
	fail_msg("register %s is not in mask %#" PRIx64, name, registers->mask);
	return 0;
}

static void check_registers(const struct perch_record *record,
			    const struct perch_registers *registers, uint64_t ip)
{
	/* the CPU changes the resume flag at a breakpoint */
	const uint64_t resume_flag = UINT64_C(0x10000);

	assert_int_equal(registers->abi, PERCH_SAMPLE_REGS_ABI_64);
	assert_int_equal(registers->mask, REGISTERS);
	assert_int_equal(registers->nr, __builtin_popcountll(REGISTERS));
	for (size_t i = 0; i < sizeof(expected_registers) / sizeof(expected_registers[0]); i++)
		if (register_value(record, registers, expected_registers[i].name) !=
		    expected_registers[i].value)
			fail_msg("%s is %#" PRIx64, expected_registers[i].name,
				 register_value(record, registers, expected_registers[i].name));
	assert_int_equal(register_value(record, registers, "di"), (uintptr_t)data);
	assert_int_equal(register_value(record, registers, "ip"), ip);
	assert_int_equal(register_value(record, registers, "sp"), asm_stack);
	assert_int_equal(register_value(record, registers, "bp"), asm_frame);
	assert_int_equal(register_value(record, registers, "flags") & ~resume_flag,
			 asm_flags & ~resume_flag);
	/* the privilege level of user space */
	assert_int_equal(register_value(record, registers, "cs") & 3, 3);
}

/* A breakpoint on the store instruction, or on its data. */
static struct perch_attr breakpoint(bool on_code, uint64_t fields)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_BREAKPOINT, 0, fields);

	needs_breakpoints_that_fire();
	attr.exclude_kernel = 1;
	attr.bp_type = on_code ? PERCH_BREAKPOINT_X : PERCH_BREAKPOINT_W;
	attr.bp_addr = on_code ? (uintptr_t)asm_here : (uintptr_t)data;
	attr.bp_len = sizeof(long);
	return attr;
}

static void sample_once(struct live *live, const struct perch_attr *attr)
{
	skip_without_asm_code();
	record_self(live, attr);
	live_enable(live);
	asm_outer(data);
	record_end(live);
	only_record(live, PERCH_RECORD_SAMPLE);
	assert_int_equal(live->nr, 1);
	assert_written_by(live->record, getpid(), current_tid());
	assert_int_equal(live->record->misc & PERCH_MISC_CPUMODE_MASK, PERCH_MISC_USER);
}

/* A breakpoint on code hits before the instruction, one on data after the store. */
static void sample_has_address(void **state)
{
	const uint64_t fields = PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_PERIOD;
	struct perch_attr attr = breakpoint(true, fields);
	struct live live;

	(void)state;
	sample_once(&live, &attr);
	assert_int_equal(live.record->sample.ip, (uintptr_t)asm_here);
	assert_int_equal(live.record->sample.period, 1);
	assert_int_equal(live.record->sample.addr, (uintptr_t)asm_here);
	live_close(&live);
	attr = breakpoint(false, fields);
	sample_once(&live, &attr);
	assert_int_equal(live.record->sample.ip, (uintptr_t)asm_stored);
	assert_int_equal(live.record->sample.addr, (uintptr_t)data);
	live_close(&live);
}

/* A sample without a period gets the period of the attr. */
static void sample_has_period_of_attr(void **state)
{
	struct perch_attr attr = breakpoint(true, PERCH_SAMPLE_IP);
	struct live live;

	(void)state;
	skip_without_asm_code();
	attr.sample_period = 3;
	record_self(&live, &attr);
	live_enable(&live);
	for (int i = 0; i < 7; i++)
		asm_outer(data);
	record_end(&live);
	assert_int_equal(live_count(&live, PERCH_RECORD_SAMPLE), 2);
	assert_int_equal(live.record[0].sample.period, 3);
	live_close(&live);
}

static void sample_has_registers(void **state)
{
	struct perch_attr attr = breakpoint(true, PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_REGS_INTR);
	struct live live;

	(void)state;
	attr.sample_regs_user = attr.sample_regs_intr = REGISTERS;
	sample_once(&live, &attr);
	check_registers(live.record, &live.record->sample.regs_user, (uintptr_t)asm_here);
	check_registers(live.record, &live.record->sample.regs_intr, (uintptr_t)asm_here);
	live_close(&live);
}

/*
 * The sample has the requested size of stack, with the pushed words and the local variables of this
 * function.
 */
static void sample_has_stack(void **state)
{
	struct perch_attr attr = breakpoint(true, PERCH_SAMPLE_STACK_USER);
	const struct perch_sample *sample;
	volatile uint64_t marks[2] = { WORD_1 ^ WORD_2, WORD_1 + 1 };
	uint64_t words[PUSHED_WORDS + 2];
	struct live live;

	(void)state;
	attr.sample_stack_user = STACK_BYTES;
	skip_without_asm_code();
	record_self(&live, &attr);
	live_enable(&live);
	asm_outer(data);
	record_end(&live);
	sample = &only_record(&live, PERCH_RECORD_SAMPLE)->sample;
	assert_int_equal(sample->stack_user.size, STACK_BYTES);
	assert_int_equal(sample->stack_user.dynamic_size, STACK_BYTES);
	memcpy(words, sample->stack_user.data, sizeof(words));
	assert_int_equal(words[0], WORD_2);
	assert_int_equal(words[1], WORD_1);
	assert_int_equal(words[PUSHED_WORDS], (uintptr_t)asm_back);
	/* variables of this function */
	assert_in_range((uintptr_t)marks, asm_stack, asm_stack + STACK_BYTES - sizeof(marks));
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		memcpy(words,
		       (const char *)sample->stack_user.data + ((uintptr_t)&marks[i] - asm_stack),
		       8);
		assert_int_equal(words[0], marks[i]);
	}
	live_close(&live);
}

/* The stack is smaller than requested. The dynamic size is the number of copied bytes. */
static void sample_has_dynamic_stack_size(void **state)
{
	const size_t bytes = 65528 / 2 / 8 * 8;
	struct perch_attr attr = breakpoint(true, PERCH_SAMPLE_STACK_USER);
	const struct perch_sample *sample;
	struct live live;
	pid_t child;
	int status;

	(void)state;
	skip_without_asm_code();
	attr.sample_stack_user = bytes;
	record_self(&live, &attr); /* skips if the kernel refuses it */
	live_close(&live);
	child = fork();
	if (!child) {
		char *low = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		struct perch_error err;

		munmap(low + 8192, 8192);
		if (live_open(&live, &attr, &perch_self, 64, &err) < 0)
			_exit(1);
		live_enable(&live);
#ifdef __x86_64__
		__asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; call asm_outer; mov %%rbx, %%rsp"
				 :
				 : "r"(low + 8192 - 64), "D"(data)
				 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
				   "memory", "cc");
#endif
		live_disable(&live);
		if (live_take(&live, &err) < 0 || live.nr != 1)
			_exit(2);
		sample = &live.record->sample;
		if (sample->stack_user.size != bytes)
			_exit(3);
		_exit(sample->stack_user.dynamic_size == (uintptr_t)low + 8192 - asm_stack ? 0 : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static __attribute__((noinline)) void calls_outer(void)
{
	asm_outer(data);
	__asm__ volatile("" ::: "memory");
}

/*
 * The call chain has the address of the breakpoint, the return address asm_back, and one return
 * address in each C function.
 */
static void sample_has_callchain(void **state)
{
	struct perch_attr attr = breakpoint(true, PERCH_SAMPLE_CALLCHAIN);
	struct perch_chain_address address;
	struct perch_chain chain;
	const struct perch_sample *sample;
	struct live live;

	(void)state;
	skip_without_asm_code();
	record_self(&live, &attr);
	live_enable(&live);
	calls_outer();
	record_end(&live);
	sample = &only_record(&live, PERCH_RECORD_SAMPLE)->sample;
	assert_true(sample->callchain.nr >= 5);
	assert_int_equal(perch_word(live.record, &sample->callchain.ip[0]), PERCH_CONTEXT_USER);
	perch_chain_init(&chain, live.record);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, (uintptr_t)asm_here);
	assert_int_equal(address.cpumode, PERCH_MISC_USER);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, (uintptr_t)asm_back);
	assert_true(perch_chain_next(&chain, &address));
	assert_in_range(address.ip, (uintptr_t)calls_outer, (uintptr_t)calls_outer + 256);
	assert_true(perch_chain_next(&chain, &address));
	assert_in_range(address.ip, (uintptr_t)sample_has_callchain,
			(uintptr_t)sample_has_callchain + 8192);
	live_close(&live);
}

/* The physical address, or 0 if the kernel hides it from this user. */
static uint64_t physical_address_of(const volatile void *address)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (fd >= 0 && pread(fd, &entry, 8, (uintptr_t)address / page * 8) != 8)
		entry = 0;
	close(fd);
	return entry >> 63 ? (entry & ((UINT64_C(1) << 55) - 1)) * page + (uintptr_t)address % page
			   : 0;
}

/* The PMU of breakpoints provides page sizes only. Other fields are "not available" or 0. */
static void sample_has_page_sizes(void **state)
{
	struct perch_attr attr = breakpoint(
		false, PERCH_SAMPLE_ADDR | PERCH_SAMPLE_IP | PERCH_SAMPLE_DATA_PAGE_SIZE |
			       PERCH_SAMPLE_CODE_PAGE_SIZE | PERCH_SAMPLE_DATA_SRC |
			       PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_TRANSACTION);
	uint64_t not_available = PERCH_MEM_S(OP, NA) | PERCH_MEM_S(LVL, NA) |
				 PERCH_MEM_S(SNOOP, NA) | PERCH_MEM_S(LOCK, NA) |
				 PERCH_MEM_S(TLB, NA);
	const struct perch_sample *sample;
	struct live live;

	(void)state;
	data[0] = 1; /* the data gets a page of its own */
	sample_once(&live, &attr);
	sample = &live.record->sample;
	assert_int_equal(sample->addr, (uintptr_t)data);
	assert_int_equal(sample->data_page_size, sysconf(_SC_PAGESIZE));
	/* code may be in a larger page, whose size is a power of two */
	assert_true(sample->code_page_size >= (uint64_t)sysconf(_SC_PAGESIZE) &&
		    __builtin_popcountll(sample->code_page_size) == 1);
	/* Linux 5.10 and 6.1 write 0 for the level number */
	if (PERCH_MEM_S(LVLNUM, NA) & sample->data_src)
		not_available |= PERCH_MEM_S(LVLNUM, NA);
	assert_int_equal(sample->data_src, not_available);
	assert_int_equal(sample->weight, 0);
	assert_int_equal(sample->transaction, 0);
	live_close(&live);
}

static void sample_has_weight_struct(void **state)
{
	struct perch_attr attr = breakpoint(false, PERCH_SAMPLE_WEIGHT_STRUCT | PERCH_SAMPLE_ADDR);
	struct live live;

	(void)state;
	sample_once(&live, &attr);
	assert_int_equal(live.record->sample.weight, 0);
	assert_int_equal(live.record->sample.addr, (uintptr_t)data);
	live_close(&live);
}

static void sample_has_physical_address(void **state)
{
	struct perch_attr attr = breakpoint(false, PERCH_SAMPLE_PHYS_ADDR);
	struct live live;
	uint64_t before;

	(void)state;
	data[0] = 1;
	before = physical_address_of(data);
	sample_once(&live, &attr);
	if (!before || before != physical_address_of(data)) {
		live_close(&live);
		print_message(
			"skipped: /proc/self/pagemap has no physical addresses for this user\n");
		skip();
	}
	assert_int_equal(live.record->sample.phys_addr, before);
	live_close(&live);
}

/* Samples with all fields but one. The fields after the missing one must still be decoded. */
static void sample_without_one_field_is_decoded(void **state)
{
	const uint64_t all =
		PERCH_SAMPLE_IP | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_READ |
		PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_RAW | PERCH_SAMPLE_REGS_USER |
		PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_DATA_SRC |
		PERCH_SAMPLE_TRANSACTION | PERCH_SAMPLE_REGS_INTR | PERCH_SAMPLE_CGROUP |
		PERCH_SAMPLE_DATA_PAGE_SIZE | PERCH_SAMPLE_CODE_PAGE_SIZE | PERCH_SAMPLE_AUX |
		(live_is_root() ? PERCH_SAMPLE_PHYS_ADDR : 0);
	struct perch_attr attr = breakpoint(false, all);

	(void)state;
	attr.sample_regs_user = attr.sample_regs_intr = REGISTERS;
	attr.sample_stack_user = STACK_BYTES;
	attr.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_ID;
	for (uint64_t bit = 1; bit < PERCH_SAMPLE_MAX; bit *= 2) {
		const struct perch_sample *sample;
		struct live live;

		if (!(attr.sample_type & bit) || bit & (PERCH_SAMPLE_ID | PERCH_SAMPLE_IDENTIFIER))
			continue;
		attr.sample_type &= ~bit;
		skip_without_asm_code();
		record_self(&live, &attr);
		live_enable(&live);
		asm_outer(data);
		record_end(&live);
		sample = &only_record(&live, PERCH_RECORD_SAMPLE)->sample;
		assert_int_equal(sample->ip, bit == PERCH_SAMPLE_IP ? 0 : (uintptr_t)asm_stored);
		assert_int_equal(sample->addr, bit == PERCH_SAMPLE_ADDR ? 0 : (uintptr_t)data);
		if (bit != PERCH_SAMPLE_REGS_USER)
			check_registers(live.record, &sample->regs_user, (uintptr_t)asm_stored);
		if (bit != PERCH_SAMPLE_REGS_INTR)
			check_registers(live.record, &sample->regs_intr, (uintptr_t)asm_stored);
		assert_int_equal(sample->stack_user.dynamic_size,
				 bit == PERCH_SAMPLE_STACK_USER ? 0 : STACK_BYTES);
		/* the kernel writes four zero bytes if the event has no raw data */
		assert_int_equal(sample->raw.size, bit == PERCH_SAMPLE_RAW ? 0 : 4);
		assert_int_equal(sample->code_page_size > 0, bit != PERCH_SAMPLE_CODE_PAGE_SIZE);
		/* only a PMU with an AUX area writes these data */
		assert_int_equal(sample->aux.size, 0);
		live_close(&live);
		attr.sample_type |= bit;
	}
}

int main(void)
{
	/* at least STACK_BYTES of stack above the tests, also with a small environment */
	__attribute__((unused)) volatile char below[2 * STACK_BYTES] = { 0 };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_has_address),
		cmocka_unit_test(sample_has_period_of_attr),
		cmocka_unit_test(sample_has_registers),
		cmocka_unit_test(sample_has_stack),
		cmocka_unit_test(sample_has_dynamic_stack_size),
		cmocka_unit_test(sample_has_callchain),
		cmocka_unit_test(sample_has_page_sizes),
		cmocka_unit_test(sample_has_weight_struct),
		cmocka_unit_test(sample_has_physical_address),
		cmocka_unit_test(sample_without_one_field_is_decoded),
	};

	return RECORDS_RUN(tests);
}
