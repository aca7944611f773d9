#!/bin/bash
# SPDX-License-Identifier: MIT
# perch doctor as root, as an ordinary user, as root of a user namespace, behind a seccomp filter and with few descriptors: each
# check against a source that is not perch: the system calls by themselves (doctor_facts.c), /proc, sysfs, capsh.
# shellcheck disable=SC2016,SC2317
set -u
perch=${PERCH:?the perch command to test}
tools=${PERCH_BUILD_ROOT:?the folder of the build}/tests/kernel
failed=0

[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can become an ordinary user"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$dir"
cp "$perch" "$tools/doctor_facts" "$tools/refuse_events" "$dir/" && cp /bin/true "$dir/probed" && chmod 755 "$dir"/* || exit 1
cd "$dir" || exit 1

root() { "$@"; }
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all -- "$@"; }
namespaced() { unshare -Ur -- "$@"; }
filtered() { "$dir/refuse_events" 1 "$@"; }

verdict() {		# status of a check, its name
	if [ "$1" -eq 0 ]; then
		echo "ok - $as: $2"
	else
		echo "not ok - $as: $2"
		[ -z "${3-}" ] || echo "    $3"
		failed=1
	fi
}

# "id|status|value|cause" a line, of the JSON, which has a member a line.
flatten() {
	awk -F'": ' '
		function text(line) { sub(/^ *"[a-z]*": /, "", line); sub(/,$/, "", line); gsub(/^"|"$/, "", line); return line }
		/^ *"id"/ { id = text($0) } /^ *"status"/ { status = text($0) } /^ *"value"/ { value = text($0) }
		/^ *"cause"/ { print id "|" status "|" value "|" text($0) }' "$1"
}

field() { awk -F'|' -v id="$1" -v nr="$2" '$1 == id { print $nr }' flat; }

status_is() {		# id, status
	[ "$(field "$1" 2)" = "$2" ]
	verdict $? "$1 is $2" "it is $(field "$1" 2): $(field "$1" 3)"
}

value_is() {		# id, what its value holds, where that is from
	case "$(field "$1" 3)" in
	*"$2"*) verdict 0 "$1: '$2', as $3 tells" ;;
	*) verdict 1 "$1: '$2', as $3 tells" "it is '$(field "$1" 3)'" ;;
	esac
}

cause_is() {
	[ "$(field "$1" 4)" = "$2" ]
	verdict $? "$1 for the cause $2" "it is $(field "$1" 4)"
}

look() {		# as whom: runs it in both forms
	as=$1
	"$as" "$dir/perch" doctor -j > json 2> said
	usable=$?
	flatten json > flat
	"$as" "$dir/perch" doctor > text 2>> said
	[ $? -eq $usable ] && [ ! -s said ] && [ "$(grep -c '^  [a-z?]' text)" -eq "$(wc -l < flat)" ] && ! grep -q '[{]\|'$'\033' text
	verdict $? "text and JSON have the same checks" "$(head -n 3 said)"
}

number() { cat "/proc/sys/kernel/$1" 2> /dev/null; }

# Ids of tracepoints that the user can read; 0: none.
id_of() { "$as" cat "/sys/kernel/tracing/events/$1/id" 2> /dev/null || echo 0; }

events() {		# each event by its system call
	local pid cgroup
	pid=$(field other-users 3 | sed -n 's/.*process \([0-9]*\) .*/\1/p')
	cgroup=$(field cgroups 3 | sed -n 's/^tried on //p')
	"$as" "$dir/doctor_facts" events "$(id_of sched/sched_switch)" "$(id_of raw_syscalls/sys_enter)" "${pid:-1}" \
		"${cgroup:-/nowhere}" > found || { verdict 1 "doctor_facts runs"; return; }
	while read -r id status; do
		status_is "$id" "$status"
	done < found
	grep -q '^sample no' found
	[ $? -ne $usable ]
	verdict $? "the exit status tells whether own programs can be sampled" "it was $usable"
}

probes() {
	local type
	type=$(cat /sys/bus/event_source/devices/uprobe/type 2> /dev/null)
	[ -z "$type" ] || status_is uprobes "$("$as" "$dir/doctor_facts" uprobe "$dir/probed" "$type")"
	[ -e /sys/bus/event_source/devices/kprobe ] || status_is kprobes no
}

kernel() {
	local size pmu missing=""
	value_is kernel "Linux $(uname -r)" "uname"
	size=$("$as" "$dir/doctor_facts" attr)
	if [ "$as" = filtered ]; then
		status_is attr-size unknown
	else
		value_is attr-size "$size bytes" "doctor_facts"
	fi
	for pmu in /sys/bus/event_source/devices/*; do
		case "$(field pmus 3)," in
		*"${pmu##*/} $(cat "$pmu/type")"[,\ ]*) ;;
		*) missing="$missing ${pmu##*/}" ;;
		esac
	done
	[ -z "$missing" ]
	verdict $? "pmus are those of sysfs" "without$missing"
	if ls /sys/bus/event_source/devices/cpu/type /sys/bus/event_source/devices/*/cpus > /dev/null 2>&1 ||
	   [ -e /sys/bus/event_source/devices/cpu ]; then
		status_is core-pmu ok
	else
		status_is core-pmu no
		cause_is core-pmu no-hardware
	fi
}

rights() {
	local effective cap
	value_is paranoid "$(number perf_event_paranoid)" "the sysctl"
	effective=$("$as" awk '/^CapEff/ { print $2 }' /proc/self/status)
	for cap in perfmon sys_admin sys_ptrace bpf ipc_lock syslog kill; do
		case ",$(capsh --decode="$effective" 2> /dev/null | sed 's/.*=//')," in
		*",cap_$cap,"*) value_is capabilities "CAP_${cap^^}" "capsh" ;;
		*) case "$(field capabilities 3)" in *"CAP_${cap^^}"*) verdict 1 "no CAP_${cap^^}, as capsh tells" ;; esac ;;
		esac
	done
	case "$("$as" awk '/^Seccomp:/ { print $2 }' /proc/self/status)" in
	0) value_is seccomp none "/proc/self/status" ;;
	2) value_is seccomp filter "/proc/self/status" ;;
	esac
	if [ "$("$as" readlink /proc/self/ns/user)" = 'user:[4026531837]' ]; then	# the number that Linux gives the first
		value_is user-namespace "the initial one" "the links of /proc"
	else
		value_is user-namespace "one of its own" "the links of /proc"
	fi
	if "$as" test -r /sys/kernel/security/lockdown; then
		value_is lockdown "$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/security/lockdown)" "securityfs"
		value_is security-modules "$(cat /sys/kernel/security/lsm)" "securityfs"
	else
		# told by trying, where something can be tried
		status_is lockdown "$("$as" "$dir/doctor_facts" lockdown)"
		status_is security-modules "$([ "$as" = filtered ] && echo unknown || echo ok)"
	fi
	if [ "$(readlink /proc/self/ns/mnt)" = 'mnt:[4026531832]' ]; then
		value_is container "no sign of one" "the namespace of mounts, which is the machine's first"
	fi
}

limits() {
	local kib left
	kib=$(field rings 3 | sed -n 's/^a ring of \([0-9]*\) KiB.*/\1/p')
	# a user's rings share what is free without rlimit: root has others
	if [ "$as" = nobody ] && [ -n "$kib" ]; then
		[ "$("$as" "$dir/doctor_facts" rings "$kib")" = yes ]
		verdict $? "rings of $kib KiB can be mapped"
		[ "$("$as" "$dir/doctor_facts" rings $((kib * 2)))" = no ]
		verdict $? "rings of $((kib * 2)) KiB cannot"
	fi
	left=$("$as" "$dir/doctor_facts" descriptors)
	[ "$as" = filtered ] || value_is descriptors "$left left of $(ulimit -n)" "doctor_facts, which opened so many"
	value_is sample-rate "at most $(number perf_event_max_sample_rate)" "the sysctl"
	value_is stack-depth "$(number perf_event_max_stack) frames" "the sysctl"
}

system() {
	if "$as" test -r /sys/kernel/tracing/events/sched/sched_switch/id; then
		status_is tracefs ok
	else
		status_is tracefs no
	fi
	if [ "$("$as" awk '$1 !~ /^0*$/ { n++ } END { print n + 0 }' /proc/kallsyms)" -gt 0 ]; then
		value_is kernel-symbols "addresses shown" "/proc/kallsyms"
	else
		value_is kernel-symbols "addresses hidden" "/proc/kallsyms"
	fi
	value_is kernel-symbols "kptr_restrict $(number kptr_restrict)" "the sysctl"
	value_is bpf-settings "unprivileged_bpf_disabled $(number unprivileged_bpf_disabled)" "the sysctl"
	value_is bpf-settings "bpf_stats_enabled $(number bpf_stats_enabled)" "the sysctl"
	case "$(number nmi_watchdog)" in
	0) value_is nmi-watchdog off "the sysctl" ;;
	1) value_is nmi-watchdog on "the sysctl" ;;
	esac
	value_is cpus "$(getconf _NPROCESSORS_ONLN) of" "getconf"
	value_is vdso "clock source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" "sysfs"
	"$as" grep -q '\[vdso\]' /proc/self/maps && value_is vdso mapped "/proc/self/maps"
}

all() {
	look "$1"
	events
	probes
	kernel
	rights
	limits
	system
}

for who in root nobody namespaced filtered; do
	if "$who" true 2> /dev/null; then
		all "$who"
	else
		echo "ok - doctor as $who # skip cannot become that"
	fi
done
cause_is count-user seccomp		# of the last one
cause_is seccomp seccomp

few() { (ulimit -n 16; "$@"); }
look few
value_is descriptors "$(few "$dir/doctor_facts" descriptors) left of 16" "doctor_facts"
status_is descriptors limited
cause_is descriptors descriptors

as=root
"$dir/perch" doctor -j > json
"$dir/perch" doctor -j -o out && cmp -s <(flatten out | grep -v ^descriptors) <(flatten json | grep -v ^descriptors)
verdict $? "-o writes the same into a file" "$(diff out json | head -n 4)"
fact() { sed -n "s/^ *\"$1\": \([^,]*\),*$/\1/p" json; }
[ "$(fact kernel.perf_event_paranoid)" = "$(number perf_event_paranoid)" ] && [ "$(fact rlimit_nofile)" = "$(ulimit -n)" ] &&
	[ "$(fact attr_size)" = "$("$dir/doctor_facts" attr)" ] && [ "$(fact cpus_online)" = "$(getconf _NPROCESSORS_ONLN)" ] &&
	[ "$(fact capabilities)" = "\"$(awk '/^CapEff/ { print $2 }' /proc/self/status)\"" ]
verdict $? "the facts of JSON are those of the system" "$(grep -A 16 '"facts"' json | tr -d '\n')"
"$dir/perch" doctor -o /nowhere/out 2> said
[ $? -eq 1 ] && grep -q 'cannot write /nowhere/out' said
verdict $? "-o of a file that cannot be made is refused"
"$dir/perch" doctor > /dev/full 2> said
[ $? -eq 1 ] && grep -q 'cannot write' said
verdict $? "what cannot be written is told"
"$dir/perch" doctor word 2> said
[ $? -eq 2 ] && grep -q "'word' is too much" said
verdict $? "a word is a usage error"
"$dir/perch" doctor --nothing 2> said
[ $? -eq 2 ]
verdict $? "an unknown option is a usage error"
if command -v script > /dev/null; then
	NO_COLOR='' script -qec "$dir/perch doctor" /dev/null < /dev/null > typed
	grep -q $'\033\\[32mok' typed
	verdict $? "a terminal gets colours"
	NO_COLOR=1 script -qec "$dir/perch doctor" /dev/null < /dev/null > typed
	! grep -q $'\033\\[' typed
	verdict $? "NO_COLOR keeps them away"
fi
exit $failed
