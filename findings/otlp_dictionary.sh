#!/bin/sh
# SPDX-License-Identifier: MIT
# A Collector that passes profiles on sends the labels of their resources in a form that Parca and Pyroscope cannot read.
#
# Guess: the Collector passes a request on as it came, so a receiver that reads what a sender writes reads it behind a
# Collector, too: all of them have the fields of opentelemetry-proto 1.10.
# What happens (pdata 1.71.0, pprofile 0.165.0, which the Collector v0.165.0 writes with): keys and texts of attributes of
# resources move to the dictionary, in the fields key_strindex and string_value_strindex. The messages of
# opentelemetry-proto-go 1.10.0 and profiles 0.3.0, which Parca 0.28 and Pyroscope (both of August 2026) read
# with, do not have these fields, so a key is empty and has no value. Parca refuses the request with "attribute key
# at index 0 in resource attributes is empty"; the Collector drops it then, and has answered 200 before.
# So perch writes keys and texts in place, which all versions read; examples/agent/collector.yaml has a note, and
# tests/interop/otlp_format.py reads both forms.
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

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

func show(what string, bytes []byte) {
	request := &collector.ExportProfilesServiceRequest{}
	err := proto.Unmarshal(bytes, request)
	attribute := request.ResourceProfiles[0].Resource.Attributes[0]
	fmt.Printf("%s: error %v, key %q, value %q, texts %q\n", what, err, attribute.Key, attribute.Value.GetStringValue(), request.Dictionary.StringTable)
}

func main() {
	value := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: "shop"}}
	sent, _ := proto.Marshal(&collector.ExportProfilesServiceRequest{
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{{Key: "service.name", Value: value}}},
		}},
		Dictionary: &profiles.ProfilesDictionary{StringTable: []string{""}},
	})
	show("sent", sent)
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(sent); err != nil {
		fmt.Println(err)
	}
	passed, _ := request.MarshalProto()
	show("passed on", passed)
}
END
printf 'module finding\n\ngo 1.25.0\n' >go.mod
go get go.opentelemetry.io/collector/pdata@v1.71.0 go.opentelemetry.io/collector/pdata/pprofile@v0.165.0 \
	go.opentelemetry.io/proto/otlp@v1.10.0 go.opentelemetry.io/proto/otlp/profiles/v1development@v0.3.0 \
	go.opentelemetry.io/proto/otlp/collector/profiles/v1development@v0.3.0 >log 2>&1 &&
	go mod tidy >>log 2>&1 || { tail -1 log; exit 77; }
go run . >found
cat found
cat >expected <<'END'
sent: error <nil>, key "service.name", value "shop", texts [""]
passed on: error <nil>, key "", value "", texts ["" "service.name" "shop"]
END
cmp -s expected found
