// SPDX-License-Identifier: MIT

// Reads profiles with the packages that engines use. check pprof FILE: google/pprof parses and checks it; prints its value types, its period
// and the function with the largest sum. check otlp FILE: the types that are generated from opentelemetry-proto read it, and know all fields.
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func checkPprof(data []byte) {
	p, err := profile.ParseData(data)
	fail(err)
	fail(p.CheckValid())
	sums := map[string]int64{}
	hottest := ""
	for _, sample := range p.Sample {
		if len(sample.Location) > 0 && len(sample.Location[0].Line) > 0 {
			name := sample.Location[0].Line[0].Function.Name
			sums[name] += sample.Value[1]
			if sums[name] > sums[hottest] {
				hottest = name
			}
		}
	}
	for i, mapping := range p.Mapping {
		if mapping.ID != uint64(i+1) {
			fail(fmt.Errorf("mapping %d has the id %d", i, mapping.ID))
		}
	}
	fmt.Printf("%s/%s %s/%s %d %s\n", p.SampleType[1].Type, p.SampleType[1].Unit, p.PeriodType.Type, p.PeriodType.Unit, p.Period, hottest)
}

// Returns the first message with a field that the public types do not have.
func unknown(message protoreflect.Message) error {
	var found error
	if len(message.GetUnknown()) > 0 {
		return fmt.Errorf("%s has unknown fields", message.Descriptor().FullName())
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Kind() != protoreflect.MessageKind {
			return true
		}
		if !field.IsList() {
			found = unknown(value.Message())
		} else {
			for i := 0; i < value.List().Len() && found == nil; i++ {
				found = unknown(value.List().Get(i).Message())
			}
		}
		return found == nil
	})
	return found
}

func checkOtlp(data []byte) {
	request := &collector.ExportProfilesServiceRequest{}
	fail(proto.Unmarshal(data, request))
	fail(unknown(request.ProtoReflect()))
	profiles, samples := 0, 0
	for _, resource := range request.ResourceProfiles {
		for _, scope := range resource.ScopeProfiles {
			for _, profile := range scope.Profiles {
				profiles++
				samples += len(profile.Samples)
			}
		}
	}
	fmt.Printf("%d profiles %d samples %d functions\n", profiles, samples, len(request.Dictionary.FunctionTable))
}

func main() {
	data, err := os.ReadFile(os.Args[2])
	fail(err)
	if os.Args[1] == "pprof" {
		checkPprof(data)
	} else {
		checkOtlp(data)
	}
}
