/* SPDX-License-Identifier: MIT */
/* The system call, registers and memory of a stopped thread. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <linux/audit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ptrace.h"

#define SENT_BY_SECCOMP 1 /* SYS_SECCOMP, which older C libraries lack */

bool tracee_get_registers(pid_t tid, struct tracee_registers *registers)
{
#if TRACER_CAN_INJECT
	struct iovec vector = { &registers->native, sizeof(registers->native) };

#if defined(__x86_64__)
	/* 64-bit registers, also for a 32-bit program */
	registers->valid = !ptrace(PTRACE_GETREGS, tid, NULL, vector.iov_base);
#else
	registers->valid = !ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &vector) &&
			   vector.iov_len == sizeof(registers->native);
#endif
#else
	(void)tid;
	registers->valid = false;
#endif
	return registers->valid;
}

bool tracee_set_registers(pid_t tid, const struct tracee_registers *registers)
{
#if defined(__x86_64__)
	return registers->valid && !ptrace(PTRACE_SETREGS, tid, NULL, &registers->native);
#elif TRACER_CAN_INJECT
	struct iovec vector = { (void *)&registers->native, sizeof(registers->native) };

	return registers->valid && !ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &vector);
#else
	(void)tid;
	(void)registers;
	return false;
#endif
}

bool tracee_skip_syscall(pid_t tid)
{
	struct tracee_registers registers;

	if (!tracee_get_registers(tid, &registers))
		return false;
#if defined(__x86_64__)
	registers.native.orig_rax = -1;
	registers.native.rax = -ENOSYS;
#elif defined(__aarch64__)
	int none = -1;
	struct iovec vector = { &none, sizeof(none) };

	registers.native.regs[0] = -ENOSYS;
	if (ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &vector))
		return false;
#endif
	return tracee_set_registers(tid, &registers);
}

#if defined(__x86_64__)
#define CODE_SEGMENT_32 0x23

static void get_syscall(const struct tracee_registers *registers, uint32_t *arch, uint64_t *number,
			uint64_t argument[6])
{
	const struct user_regs_struct *r = &registers->native;
	const bool narrow = r->cs == CODE_SEGMENT_32;
	const uint64_t wide[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };
	const uint64_t low[6] = { r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp };

	*arch = narrow ? AUDIT_ARCH_I386 : AUDIT_ARCH_X86_64;
	*number = narrow ? (uint32_t)r->orig_rax : r->orig_rax;
	for (int i = 0; i < 6; i++)
		argument[i] = narrow ? (uint32_t)low[i] : wide[i];
}

/* syscall and int 0x80 have two bytes. After sysenter, the kernel returns to the instruction after
 * an int 0x80. */
void tracee_set_syscall(struct tracee_registers *registers, const struct tracee_abi *abi,
			uint64_t number, const uint64_t argument[6])
{
	struct user_regs_struct *r = &registers->native;

	r->rip -= 2;
	r->rax = number;
	r->orig_rax = -1; /* not in a system call: the kernel restarts nothing */
	if (abi->arch == AUDIT_ARCH_I386) {
		r->rbx = (uint32_t)argument[0];
		r->rcx = (uint32_t)argument[1];
		r->rdx = (uint32_t)argument[2];
		r->rsi = (uint32_t)argument[3];
		r->rdi = (uint32_t)argument[4];
		r->rbp = (uint32_t)argument[5];
		return;
	}
	r->rdi = argument[0];
	r->rsi = argument[1];
	r->rdx = argument[2];
	r->r10 = argument[3];
	r->r8 = argument[4];
	r->r9 = argument[5];
}

int64_t tracee_return_value(const struct tracee_registers *registers, const struct tracee_abi *abi)
{
	return abi->arch == AUDIT_ARCH_I386 ? (int32_t)registers->native.rax
					    : (int64_t)registers->native.rax;
}
#elif defined(__aarch64__)
static void get_syscall(const struct tracee_registers *registers, uint32_t *arch, uint64_t *number,
			uint64_t argument[6])
{
	/* not 32-bit: tracee_get_registers() fails for a 32-bit program, which has fewer registers
	 */
	*arch = AUDIT_ARCH_AARCH64;
	*number = registers->native.regs[8];
	for (int i = 0; i < 6; i++)
		argument[i] = registers->native.regs[i];
}

void tracee_set_syscall(struct tracee_registers *registers, const struct tracee_abi *abi,
			uint64_t number, const uint64_t argument[6])
{
	(void)abi;
	registers->native.pc -= 4;
	registers->native.regs[8] = number;
	for (int i = 0; i < 6; i++)
		registers->native.regs[i] = argument[i];
}

int64_t tracee_return_value(const struct tracee_registers *registers, const struct tracee_abi *abi)
{
	(void)abi;
	return registers->native.regs[0];
}
#else
static void get_syscall(const struct tracee_registers *registers, uint32_t *arch, uint64_t *number,
			uint64_t argument[6])
{
	(void)registers;
	*arch = 0;
	*number = 0;
	memset(argument, 0, 6 * sizeof(*argument));
}

void tracee_set_syscall(struct tracee_registers *registers, const struct tracee_abi *abi,
			uint64_t number, const uint64_t argument[6])
{
	(void)registers, (void)abi, (void)number, (void)argument;
}

int64_t tracee_return_value(const struct tracee_registers *registers, const struct tracee_abi *abi)
{
	(void)registers, (void)abi;
	return -ENOSYS;
}
#endif

/* Returns false if the kernel has no PTRACE_GET_SYSCALL_INFO (before 5.3), or the thread ended. */
static bool get_syscall_info(struct tracer *tracer, pid_t tid, struct __ptrace_syscall_info *info)
{
	if (tracer->no_syscall_info)
		return false;
	errno = 0;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(*info), info) > 0)
		return true;
	if (errno != ESRCH) /* the thread was killed */
		tracer->no_syscall_info = true;
	return false;
}

static enum tracee_syscall_kind get_kind(const struct tracee_abi *abi, uint32_t number)
{
	if (!abi)
		return TRACEE_SYSCALL_OTHER;
	return number == abi->perf_event_open			? TRACEE_SYSCALL_OPEN
	       : number == abi->ioctl				? TRACEE_SYSCALL_IOCTL
	       : number == abi->mmap				? TRACEE_SYSCALL_MMAP
	       : number == abi->read				? TRACEE_SYSCALL_READ
	       : number == abi->readv				? TRACEE_SYSCALL_READV
	       : number == abi->ptrace				? TRACEE_SYSCALL_PTRACE
	       : number == abi->seccomp || number == abi->prctl ? TRACEE_SYSCALL_SECCOMP
								: TRACEE_SYSCALL_OTHER;
}

bool tracee_read_syscall(struct tracer *tracer, struct tracee *thread)
{
	struct tracee_syscall *call = &thread->syscall;
	struct __ptrace_syscall_info info = { 0 };
	struct tracee_registers registers;
	const bool is_read = tracer->entry_tid == thread->tid;
	uint32_t arch;

	tracer->entry_tid = 0;
	call->kind = TRACEE_SYSCALL_OTHER;
	call->filter_data = TRACER_FILTER_DATA;
	if (is_read)
		info = tracer->entry;
	if (is_read || get_syscall_info(tracer, thread->tid, &info)) {
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY && info.op != PTRACE_SYSCALL_INFO_SECCOMP)
			return false;
		arch = info.arch;
		if (info.op == PTRACE_SYSCALL_INFO_SECCOMP)
			call->filter_data = info.seccomp.ret_data;
		/* the structs of entry and seccomp start with the same members */
		call->number = info.entry.nr;
		memcpy(call->argument, info.entry.args, sizeof(call->argument));
	} else {
		if (!tracee_get_registers(thread->tid, &registers))
			return false;
		get_syscall(&registers, &arch, &call->number, call->argument);
	}
	call->abi = tracee_find_abi(arch, call->number);
	call->kind = get_kind(call->abi, call->number);
	return call->abi;
}

bool tracee_read_result(const struct tracee *thread, int64_t *result)
{
	struct tracee_registers registers;

	if (!tracee_get_registers(thread->tid, &registers))
		return false;
	*result = tracee_return_value(&registers, thread->syscall.abi);
	return true;
}

int tracee_at_syscall_exit(struct tracer *tracer, pid_t tid, int64_t *result)
{
	struct __ptrace_syscall_info info = { 0 };

	tracer->entry_tid = 0;
	if (!get_syscall_info(tracer, tid, &info))
		return -1;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		tracer->entry_tid = tid;
		tracer->entry = info;
	}
	if (result)
		*result = info.exit.rval;
	return info.op == PTRACE_SYSCALL_INFO_EXIT;
}

bool tracee_has_seccomp_signal(pid_t tid)
{
	struct __ptrace_peeksiginfo_args queue = { .nr = 1 };
	siginfo_t info;

	for (; ptrace(PTRACE_PEEKSIGINFO, tid, &queue, &info) == 1; queue.off++)
		if (info.si_signo == SIGSYS && info.si_code == SENT_BY_SECCOMP)
			return true;
	return false;
}

/* /proc/TID/mem can also access pages that the process itself cannot read or write. */
static size_t access_file(pid_t tid, uint64_t address, void *buffer, size_t size, bool write)
{
	char path[32];
	ssize_t moved;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return 0;
	moved = write ? pwrite(fd, buffer, size, address) : pread(fd, buffer, size, address);
	close(fd);
	return moved < 0 ? 0 : moved;
}

size_t tracee_read_memory(pid_t tid, uint64_t address, void *buffer, size_t size)
{
	struct iovec here = { buffer, size };
	/* one vector per page: if the second page is not mapped, the first is read */
	const size_t first = 4096 - address % 4096;
	struct iovec there[2] = {
		{ (void *)(uintptr_t)address, size < first ? size : first },
		{ (void *)(uintptr_t)(address + first), size < first ? 0 : size - first },
	};
	ssize_t got;

	if (!address || address + size < address)
		return 0;
	got = process_vm_readv(tid, &here, 1, there, there[1].iov_len ? 2 : 1, 0);
	if (got < 0 && errno != EFAULT)
		return access_file(tid, address, buffer, size, false);
	return got < 0 ? 0 : got;
}

bool tracee_write_memory(pid_t tid, uint64_t address, const void *buffer, size_t size)
{
	struct iovec here = { (void *)buffer, size }, there = { (void *)(uintptr_t)address, size };

	if (process_vm_writev(tid, &here, 1, &there, 1, 0) == (ssize_t)size)
		return true;
	/* copies a read-only page, as for a breakpoint of a debugger */
	return access_file(tid, address, (void *)buffer, size, true) == size;
}

void tracee_read_attr(struct tracee *thread)
{
	const uint64_t address = thread->syscall.argument[0];
	uint32_t size;
	unsigned char *attr;

	free(thread->attr);
	thread->attr = NULL;
	thread->attr_size = 0;
	if (tracee_read_memory(thread->tid, address + 4, &size, sizeof(size)) != sizeof(size))
		return;
	if (!size)
		size = PERCH_ATTR_SIZE_VER0;
	/* the kernel refuses these sizes; the output shows the attr anyway */
	if (size < PERCH_ATTR_SIZE_VER0)
		size = PERCH_ATTR_SIZE_VER0;
	if (size > TRACEE_ATTR_MAX)
		size = TRACEE_ATTR_MAX;
	/* zeros after its end, so that it can be used as a struct perch_attr */
	attr = calloc(1, TRACEE_ATTR_MAX);
	if (!attr)
		return;
	thread->attr_size = tracee_read_memory(thread->tid, address, attr, size);
	if (thread->attr_size < 8) {
		free(attr);
		thread->attr_size = 0;
		return;
	}
	thread->attr = attr;
}
