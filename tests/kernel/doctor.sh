#!/bin/bash
# SPDX-License-Identifier: MIT
# perch doctor as root, as an unprivileged user, as root of a user namespace, with a seccomp filter and with few descriptors. Each
# check is compared with a source other than perch: system calls (doctor_facts.c), /proc, sysfs, capsh.
# shellcheck disable=SC2016,SC2317
# shellcheck source=tests/kernel/common.bash
. "$(dirname "$(realpath "$0")")/common.bash"
tools=${PERCH_BUILD_ROOT:?the build directory}/tests/kernel

[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can become another user"; exit 77; }
trap 'exit 1' HUP INT TERM
cp "$perch" "$tools/doctor_facts" "$tools/refuse_events" "$dir/" && cp /bin/true "$dir/probed" && chmod 755 "$dir"/* || exit 1

root() { "$@"; }
# a user that no other run of this test has: the rings of a user share a limit
user_id=$((20000 + $$ % 40000))
nobody() { setpriv --reuid=$user_id --regid=$user_id --clear-groups --inh-caps=-all --bounding-set=-all -- "$@"; }
namespaced() { unshare -Ur -- "$@"; }
filtered() { "$dir/refuse_events" 1 "$@"; }

report() {		# status of a check, its name
	if [ "$1" -eq 0 ]; then
		echo "ok - $as: $2"
	else
		echo "not ok - $as: $2"
		[ -z "${3-}" ] || echo "    $3"
		failed=1
	fi
}

# Converts the JSON to lines "id|status|value|cause".
flatten() {
	awk -F'": ' '
		function text(line) { sub(/^ *"[a-z]*": /, "", line); sub(/,$/, "", line); gsub(/^"|"$/, "", line); return line }
		/^ *"id"/ { id = text($0) } /^ *"status"/ { status = text($0) } /^ *"value"/ { value = text($0) }
		/^ *"cause"/ { print id "|" status "|" value "|" text($0) }' "$1"
}

# What the checks of a run of doctor say, by id.
declare -A status value cause
read_checks() {
	local id first second third
	status=() value=() cause=()
	while IFS='|' read -r id first second third; do
		status[$id]=$first value[$id]=$second cause[$id]=$third
	done < flat
}

status_is() {		# id, status
	[ "${status[$1]-}" = "$2" ]
	report $? "$1 is $2" "it is ${status[$1]-}: ${value[$1]-}"
}

value_has() {		# id, expected part of its value, the source of that
	case "${value[$1]-}" in
	*"$2"*) report 0 "$1: '$2', as in $3" ;;
	*) report 1 "$1: '$2', as in $3" "it is '${value[$1]-}'" ;;
	esac
}

cause_is() {
	[ "${cause[$1]-}" = "$2" ]
	report $? "the cause of $1 is $2" "it is ${cause[$1]-}"
}

run_doctor() {		# user: prints both JSON and text
	as=$1
	rate_before=$(number perf_event_max_sample_rate)
	"$as" "$dir/perch" doctor -j > json 2> errors
	usable=$?
	flatten json > flat
	read_checks
	[ ! -s errors ]
	report $? "no message on stderr" "$(head -n 3 errors)"
	if in_user_space; then
		"$as" "$dir/perch" doctor > text 2> errors
		[ $? -eq $usable ] && [ ! -s errors ] && [ "$(grep -c '^  [a-z?]' text)" -eq "$(wc -l < flat)" ] && ! grep -q '[{]\|'$'\033' text
		report $? "text and JSON have the same checks" "$(head -n 3 errors)"
	fi
}

number() { cat "/proc/sys/kernel/$1" 2> /dev/null; }

# The id of a tracepoint; 0 if the user cannot read it.
id_of() { "$as" cat "/sys/kernel/tracing/events/$1/id" 2> /dev/null || echo 0; }

events() {		# compares with the open calls of doctor_facts
	local pid cgroup
	pid=$(echo "${value[other-users]-}" | sed -n 's/.*process \([0-9]*\) .*/\1/p')
	cgroup=$(echo "${value[cgroups]-}" | sed -n 's/^tried on \([^ ]*\).*/\1/p')
	"$as" "$dir/doctor_facts" events "$(id_of sched/sched_switch)" "$(id_of raw_syscalls/sys_enter)" "${pid:-1}" \
		"${cgroup:-/nowhere}" > facts || { report 1 "doctor_facts runs"; return; }
	while read -r id wanted; do
		status_is "$id" "$wanted"
	done < facts
	grep -q '^sample no' facts
	[ $? -ne $usable ]
	report $? "the exit status is 0 if own programs can be sampled" "it was $usable"
}

probes() {
	local type
	type=$(cat /sys/bus/event_source/devices/uprobe/type 2> /dev/null)
	[ -z "$type" ] || status_is uprobes "$("$as" "$dir/doctor_facts" uprobe "$dir/probed" "$type")"
	[ -e /sys/bus/event_source/devices/kprobe ] || status_is kprobes no
}

kernel() {
	local size pmu missing=""
	value_has kernel "Linux $(uname -r)" "uname"
	size=$("$as" "$dir/doctor_facts" attr)
	if [ "$as" = filtered ]; then
		status_is attr-size unknown
	else
		value_has attr-size "$size bytes" "doctor_facts"
	fi
	for pmu in /sys/bus/event_source/devices/*; do
		case "${value[pmus]-}," in
		*"${pmu##*/} $(cat "$pmu/type")"[,\ ]*) ;;
		*) missing="$missing ${pmu##*/}" ;;
		esac
	done
	[ -z "$missing" ]
	report $? "pmus lists the PMUs of sysfs" "missing:$missing"
	if ls /sys/bus/event_source/devices/cpu/type /sys/bus/event_source/devices/*/cpus > /dev/null 2>&1 ||
	   [ -e /sys/bus/event_source/devices/cpu ]; then
		status_is core-pmu ok
	else
		status_is core-pmu no
		cause_is core-pmu no-hardware
	fi
}

rights() {
	[ "$(grep -o 'setcap cap_[a-z_,]*+ep' json | sort -u | wc -l)" -le 1 ]
	report $? "all setcap commands are the same" "$(grep -o 'setcap cap_[a-z_,]*+ep' json | sort -u | tr '\n' ';')"
	! grep '"change": .*=[-0-9]* (' json > line
	report $? "a command that sets a value can be copied to the end" "$(cat line)"
	local effective cap
	value_has paranoid "$(number perf_event_paranoid)" "the sysctl"
	effective=$("$as" awk '/^CapEff/ { print $2 }' /proc/self/status)
	for cap in perfmon sys_admin sys_ptrace bpf ipc_lock syslog kill; do
		case ",$(capsh --decode="$effective" 2> /dev/null | sed 's/.*=//')," in
		*",cap_$cap,"*) value_has capabilities "CAP_${cap^^}" "capsh" ;;
		*) case "${value[capabilities]-}" in *"CAP_${cap^^}"*) report 1 "no CAP_${cap^^}, as in capsh" ;; esac ;;
		esac
	done
	case "$("$as" awk '/^Seccomp:/ { print $2 }' /proc/self/status)" in
	0) value_has seccomp none "/proc/self/status" ;;
	2) value_has seccomp filter "/proc/self/status" ;;
	esac
	if [ "$("$as" readlink /proc/self/ns/user)" = 'user:[4026531837]' ]; then	# the initial user namespace
		value_has user-namespace "the initial one" "/proc/self/ns/user"
	else
		value_has user-namespace "its own" "/proc/self/ns/user"
	fi
	if "$as" test -r /sys/kernel/security/lockdown; then
		value_has lockdown "$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/security/lockdown)" "securityfs"
		value_has security-modules "$(cat /sys/kernel/security/lsm)" "securityfs"
	else
		# found by opening events, where that is possible
		status_is lockdown "$("$as" "$dir/doctor_facts" lockdown)"
		status_is security-modules "$([ "$as" = filtered ] && echo unknown || echo ok)"
	fi
	if [ "$(readlink /proc/self/ns/mnt)" = 'mnt:[4026531832]' ]; then
		value_has container "none found" "/proc/self/ns/mnt, the initial mount namespace"
	fi
}

limits() {
	local kib left
	kib=$(echo "${value[rings]-}" | sed -n 's/^a ring of \([0-9]*\) KiB.*/\1/p')
	# all rings of a user share the memory of the sysctl, and root has other rings
	if [ "$as" = nobody ] && [ -n "$kib" ]; then
		[ "$("$as" "$dir/doctor_facts" rings "$kib")" = yes ]
		report $? "rings of $kib KiB can be mapped"
		[ "$("$as" "$dir/doctor_facts" rings $((kib * 2)))" = no ]
		report $? "rings of $((kib * 2)) KiB cannot be mapped"
	fi
	left=$("$as" "$dir/doctor_facts" descriptors)
	[ "$as" = filtered ] || value_has descriptors "$left left of $(ulimit -n)" "doctor_facts, which opens as many events"
	# the kernel lowers it where samples take long
	[ "$rate_before" != "$(number perf_event_max_sample_rate)" ] || value_has sample-rate "at most $rate_before" "the sysctl"
	value_has stack-depth "$(number perf_event_max_stack) frames" "the sysctl"
}

system() {
	if "$as" test -r /sys/kernel/tracing/events/sched/sched_switch/id; then
		status_is tracefs ok
	else
		status_is tracefs no
	fi
	if [ "$("$as" awk '$1 !~ /^0*$/ { n++ } END { print n + 0 }' /proc/kallsyms)" -gt 0 ]; then
		value_has kernel-symbols "addresses shown" "/proc/kallsyms"
	else
		value_has kernel-symbols "addresses hidden" "/proc/kallsyms"
		[ "$(number kptr_restrict)" -ne 0 ] ||
			value_has kernel-symbols "perf_event_paranoid $(number perf_event_paranoid) without" "the sysctl that hides them"
	fi
	value_has kernel-symbols "kptr_restrict $(number kptr_restrict)" "the sysctl"
	value_has bpf-settings "unprivileged_bpf_disabled $(number unprivileged_bpf_disabled)" "the sysctl"
	value_has bpf-settings "bpf_stats_enabled $(number bpf_stats_enabled)" "the sysctl"
	case "$(number nmi_watchdog)" in
	0) value_has nmi-watchdog off "the sysctl" ;;
	1) value_has nmi-watchdog on "the sysctl" ;;
	esac
	value_has cpus "$(getconf _NPROCESSORS_ONLN) of" "getconf"
	value_has vdso "clock source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" "sysfs"
	"$as" grep -q '\[vdso\]' /proc/self/maps && value_has vdso mapped "/proc/self/maps"
}

# README.md has a part of what an ordinary user sees where the sysctl has its default, with "..." for the rest of a line.
readme() {
	in_user_space && [ "$(number perf_event_paranoid)" = 2 ] && [ "${value[container]-}" = "none found" ] && release_is 5.8 || return
	sed -n '/^\$ perch doctor$/,/^```$/{//!s/ *\(\.\.\.\)*$//p}' "${PERCH_SOURCE_ROOT:?}/README.md" > excerpt
	[ "$(wc -l < excerpt)" -ge 5 ] && [ "$(while IFS= read -r line; do grep -cF -m 1 -- "$line" text; done < excerpt | sort -u)" = 1 ]
	report $? "README.md has what is printed" "$(while IFS= read -r line; do grep -qF -- "$line" text || echo "$line"; done < excerpt)"
}

all() {
	run_doctor "$1"
	[ "$1" != nobody ] || readme
	events
	probes
	kernel
	rights
	limits
	system
}

for user in root nobody namespaced filtered; do
	if "$user" true 2> /dev/null; then
		all "$user"
	else
		echo "ok - doctor as $user # skip cannot become this user"
	fi
done
cause_is count-user seccomp		# of the run with a seccomp filter
cause_is seccomp seccomp

# A filter that ends the process: a child of perch finds it, and perch continues without events.
for action in kill kill-thread trap; do
	killed() { "$dir/refuse_events" "$action" "$@"; }
	run_doctor killed
	as="a filter that answers '$action'"
	status_is count-user no
	cause_is count-user seccomp
	status_is uprobes no
	status_is seccomp no
	grep -q 'a seccomp filter kills the process at perf_event_open(2)' json
	report $? "the filter is reported"
	for command in 'stat -e page-faults' 'record -e page-faults -o none.data'; do
		# shellcheck disable=SC2086
		killed "$dir/perch" $command -- true > out 2>&1
		[ $? -eq 1 ] && grep -q 'a seccomp filter kills the process at perf_event_open(2)' out && [ ! -e none.data ]
		report $? "perch $command reports the filter" "$(head -2 out)"
	done
	(mkdir "core-$action" && cd "core-$action" && ulimit -c unlimited && killed "$dir/perch" stat -e page-faults -- true 2> /dev/null)
	[ -z "$(ls -A "core-$action")" ]
	report $? "perch stat leaves no core file"
	(trap '' CHLD; killed "$dir/perch" stat -e page-faults -- true > out 2>&1)
	[ $? -eq 1 ] && grep -q 'a seccomp filter kills the process at perf_event_open(2)' out
	report $? "perch stat reports the filter with SIGCHLD ignored" "$(head -2 out)"
	killed "$dir/perch" list sw > out 2> /dev/null && grep -q '^  page-faults' out
	report $? "perch list continues"
done

few() { (ulimit -n 16; "$@"); }
run_doctor few
value_has descriptors "$(few "$dir/doctor_facts" descriptors) left of 16" "doctor_facts"
status_is descriptors limited
cause_is descriptors descriptors

as=root
"$dir/perch" doctor -j > json
if in_user_space; then
	# descriptors are those of the moment, and the cost of a sample is measured each time
	lasting() { flatten "$1" | grep -v -e '^descriptors|' -e '^sample-cost|'; }
	"$dir/perch" doctor -j -o out && cmp -s <(lasting out) <(lasting json)
	report $? "-o writes the same to a file" "$(diff <(lasting out) <(lasting json) | head -n 4)"
fi
fact() { sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" json; }
[ "$(fact kernel.perf_event_paranoid)" = "$(number perf_event_paranoid)" ] && [ "$(fact rlimit_nofile)" = "$(ulimit -n)" ] &&
	[ "$(fact attr_size)" = "$("$dir/doctor_facts" attr)" ] && [ "$(fact cpus_online)" = "$(getconf _NPROCESSORS_ONLN)" ] &&
	[ "$(fact capabilities)" = "\"$(awk '/^CapEff/ { print $2 }' /proc/self/status)\"" ]
report $? "the facts of the JSON equal those of the system" "$(grep -A 16 '"facts"' json | tr -d '\n')"
if in_user_space; then
	"$dir/perch" doctor -o /nowhere/out 2> errors
	[ $? -eq 1 ] && grep -q '/nowhere/out cannot be written' errors
	report $? "-o reports a file that cannot be created"
	"$dir/perch" doctor > /dev/full 2> errors
	[ $? -eq 1 ] && [ "$(wc -l < errors)" -eq 1 ] && grep -q 'cannot be written: No space' errors
	report $? "a write error is reported, once"
	"$dir/perch" doctor word 2> errors
	[ $? -eq 2 ] && grep -q "'word' is not an option" errors
	report $? "an operand is a usage error"
	"$dir/perch" doctor --nothing 2> errors
	[ $? -eq 2 ]
	report $? "an unknown option is a usage error"
fi
if in_user_space && command -v script > /dev/null; then
	NO_COLOR='' script -qec "$dir/perch doctor" /dev/null < /dev/null > terminal
	grep -q $'\033\\[32mok' terminal
	report $? "a terminal has colours"
	NO_COLOR=1 script -qec "$dir/perch doctor" /dev/null < /dev/null > terminal
	! grep -q $'\033\\[' terminal
	report $? "NO_COLOR disables colours"
fi
exit $failed
