// Prints the resource blocks of a file of Terraform as JSON: labels, arguments and nested blocks. A second argument is a file with
// the resources that arguments refer to: their values by type and name.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
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

func of(body *hclsyntax.Body, labels []string, known *hcl.EvalContext) block {
	found := block{labels, map[string]json.RawMessage{}, map[string][]block{}}
	for name, attribute := range body.Attributes {
		value, problems := attribute.Expr.Value(known)
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
		found.Blocks[one.Type] = append(found.Blocks[one.Type], of(one.Body, nil, known))
	}
	return found
}

func context(name string) *hcl.EvalContext {
	text, err := os.ReadFile(name)
	if err != nil {
		fail(err)
	}
	var value ctyjson.SimpleJSONValue
	if err := json.Unmarshal(text, &value); err != nil {
		fail(err)
	}
	variables := map[string]cty.Value{}
	for name, of := range value.AsValueMap() {
		variables[name] = of
	}
	return &hcl.EvalContext{Variables: variables}
}

func main() {
	file, problems := hclparse.NewParser().ParseHCLFile(os.Args[1])
	if problems.HasErrors() {
		fail(problems)
	}
	var known *hcl.EvalContext
	if len(os.Args) > 2 {
		known = context(os.Args[2])
	}
	resources := []block{}
	for _, one := range file.Body.(*hclsyntax.Body).Blocks {
		resources = append(resources, of(one.Body, one.Labels, known))
	}
	if err := json.NewEncoder(os.Stdout).Encode(resources); err != nil {
		fail(err)
	}
}
