// Prints the resource blocks of a file of Terraform as JSON: labels, arguments and nested blocks.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

type block struct {
	Labels    []string                   `json:"labels,omitempty"`
	Arguments map[string]json.RawMessage `json:"arguments"`
	Blocks    map[string][]block         `json:"blocks"`
}

func fail(problem any) {
	fmt.Fprintln(os.Stderr, problem)
	os.Exit(1)
}

func of(body *hclsyntax.Body, labels []string) block {
	found := block{labels, map[string]json.RawMessage{}, map[string][]block{}}
	for name, attribute := range body.Attributes {
		value, problems := attribute.Expr.Value(nil)
		if problems.HasErrors() {
			fail(problems)
		}
		text, err := ctyjson.Marshal(value, value.Type())
		if err != nil {
			fail(err)
		}
		found.Arguments[name] = text
	}
	for _, one := range body.Blocks {
		found.Blocks[one.Type] = append(found.Blocks[one.Type], of(one.Body, nil))
	}
	return found
}

func main() {
	file, problems := hclparse.NewParser().ParseHCLFile(os.Args[1])
	if problems.HasErrors() {
		fail(problems)
	}
	resources := []block{}
	for _, one := range file.Body.(*hclsyntax.Body).Blocks {
		resources = append(resources, of(one.Body, one.Labels))
	}
	if err := json.NewEncoder(os.Stdout).Encode(resources); err != nil {
		fail(err)
	}
}
