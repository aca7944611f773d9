#!/bin/sh
# SPDX-License-Identifier: MIT
# What an OpenTelemetry Collector answers says nothing about a request of profiles.
#
# Guess: the answer to a request that was taken whole is empty, as the specification of OTLP says ("MUST leave the
# partial_success field unset"), and a request whose indices are in no table is refused with 400.
# What happens (pdata 1.71.0, pprofile 0.165.0, which the Collector v0.165.0 reads and answers with): each answer
# has an empty partial_success, 0a00, in all signals. A sample whose stack is number 99 of a table of one is
# read without an error, and so is a sample of opentelemetry-proto 1.9, whose values become attributes and
# are lost: the Collector answers 200 and sends both on.
# So a sender must read rejected_profiles, not look whether partial_success is there (src/agent/push/push_answer.c),
# and a test of a writer must look at what comes out behind the Collector (tests/fleet/fleet.py).
#
# Needs go 1.26 or later and the module proxy. Exit status 0: it is as described; 1: that has changed; 77: no module
# can be had.
set -eu
command -v go >/dev/null || { echo "no go"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >main.go <<'END'
package main

import (
	"fmt"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// A request with one profile that has one sample; all lengths are below 128.
func request(sample string) []byte {
	field := func(number byte, text string) string { return string([]byte{number<<3 | 2, byte(len(text))}) + text }
	return []byte(field(1, field(2, field(2, field(2, sample)))) + field(2, field(5, "")))
}

func read(what, sample string) {
	r := pprofileotlp.NewExportRequest()
	err := r.UnmarshalProto(request(sample))
	s := r.Profiles().ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples().At(0)
	fmt.Println(what, "error", err, "stack", s.StackIndex(), "values", s.Values().Len(), "attributes", s.AttributeIndices().Len())
}

func main() {
	t, _ := ptraceotlp.NewExportResponse().MarshalProto()
	m, _ := pmetricotlp.NewExportResponse().MarshalProto()
	l, _ := plogotlp.NewExportResponse().MarshalProto()
	p, _ := pprofileotlp.NewExportResponse().MarshalProto()
	fmt.Printf("answers %x %x %x %x\n", t, m, l, p)
	read("no such stack:", "\x08\x63\x22\x01\x05")
	read("values of 1.9:", "\x08\x00\x12\x01\x05")
}
END
printf 'module finding\n\ngo 1.25.0\n' >go.mod
go get go.opentelemetry.io/collector/pdata@v1.71.0 go.opentelemetry.io/collector/pdata/pprofile@v0.165.0 >log 2>&1 &&
	go mod tidy >>log 2>&1 || { tail -1 log; exit 77; }
go run . >found
cat found
cat >expected <<'END'
answers 0a00 0a00 0a00 0a00
no such stack: error <nil> stack 99 values 1 attributes 0
values of 1.9: error <nil> stack 0 values 0 attributes 1
END
cmp -s expected found
