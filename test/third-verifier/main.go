// A third verifier, of exports and receipts. It was written from docs/audit-format.md alone and keeps that page honest:
// what it cannot know from the page, nobody who reads it can. Where the other verifiers say more, this one says only
// whether the evidence holds (0), contradicts itself (1) or establishes nothing (2), and the first reason.
//
//	third-verifier < REQUESTS
//
// A request is a line {"path", "keys": [32 bytes in hex …], "seals": [file of kept seals …]}. The answer is a line
// {"code", "why"}. A crash ends the program.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

type request struct {
	Path  string   `json:"path"`
	Keys  []string `json:"keys"`
	Seals []string `json:"seals"`
}

// verify returns what is wrong with a file of evidence. Code 1 outranks code 2.
func verify(asked request) (found failure) {
	defer func() {
		if thrown := recover(); thrown != nil {
			var is bool
			if found, is = thrown.(failure); !is {
				panic(thrown)
			}
		}
	}()
	content, err := os.ReadFile(asked.Path)
	if err != nil {
		undetermined("%v", err)
	}
	open := failure{}
	formCode = 1
	if bytes.HasPrefix(content, []byte("c2sp.org/tlog-proof@v1\n")) {
		formCode = 2
		open = verifyReceipt(string(content), asked)
	} else {
		open = verifyExport(content, asked)
	}
	return open
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		found := verify(asked)
		answer, _ := json.Marshal(map[string]any{"code": found.code, "why": found.why})
		fmt.Println(string(answer))
	}
}

func hasExactly(members object, names ...string) bool {
	for _, name := range names {
		if _, has := members[name]; !has {
			return false
		}
	}
	return len(members) == len(names)
}
