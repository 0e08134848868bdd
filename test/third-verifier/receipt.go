package main

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// maxProofHashes is the length of the longest proof that a receipt can hold: positions have at most 63 bits.
const maxProofHashes = 63

func verifyReceipt(text string, asked request) failure {
	proof, note, found := strings.Cut(text, "\n\n")
	lines := strings.Split(proof, "\n")
	formed(found && len(lines) >= 3, "the receipt has another form")
	encoded := strings.TrimPrefix(lines[1], "extra ")
	extra, err := base64.StdEncoding.Strict().DecodeString(encoded)
	formed(encoded != lines[1] && err == nil && !strings.Contains(encoded, "\r"), "the receipt has no extra data")
	value, err := parse(extra)
	formed(err == nil, "extra is not JSON: %v", err)
	said, is := value.(object)
	formed(is, "extra is no object")
	keysValue := said["keys"]
	hasKeys := keysValue != nil
	delete(said, "keys")
	number := numberIn(said, "vocabulary")
	formed(number > 0, "the receipt states no vocabulary")
	delete(said, "vocabulary")

	event := eventOf(said)
	workspace := event.members["workspace_id"].(string)
	event.checkGenesis()
	event.check(number)
	formed(form("index "+integer).MatchString(lines[2]) && len(lines[2]) < 23, "the receipt has no index")
	must(lines[2] == "index "+string(mustCanonical(event.members["seq"])), "the receipt has the index of another event")
	formed(len(lines)-3 <= maxProofHashes, "the proof is longer than one can be")
	path := make([]tlog.Hash, len(lines)-3)
	for at, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		formed(err == nil && hash.String() == line, "a line of the proof is no hash")
		path[at] = hash
	}
	by := readSeal(note, workspace)
	must(event.seq < by.size, "the seal does not cover the event")
	err = tlog.CheckRecord(path, by.size, by.root, event.seq, event.hash)
	must(err == nil, "the event is not in the sealed tree")
	if found := checkSigner(by, keysValue, hasKeys, workspace, asked); found.code != 0 || number <= vocabulary {
		return found
	}
	return failure{2, "the receipt states a greater vocabulary than is known here"}
}

// eventOf reads the event in one of the two forms.
func eventOf(said object) *event {
	if _, isLeaf := said["leaf"]; !isLeaf {
		workspace, _ := said["workspace_id"].(string)
		return shownEvent(said, workspace)
	}
	formed(hasExactly(said, "leaf", "details", "details_salt"), "extra has other members")
	leaf, _ := said["leaf"].(string)
	value, err := parse([]byte(leaf))
	members, _ := value.(object)
	formed(err == nil && members != nil, "the leaf is no event")
	workspace, _ := members["workspace_id"].(string)
	event := bareEvent(members, workspace)
	formed(event.bytes == leaf, "the leaf is not canonical")
	if said["details"] == nil {
		event.checkNoSalt(said["details_salt"])
		return event
	}
	text, _ := said["details"].(string)
	details, err := parse([]byte(text))
	formed(err == nil && mustCanonical(details) == text, "the details are not canonical")
	event.setDetails(details, text, said["details_salt"])
	return event
}

func mustCanonical(value any) string {
	text, err := canonical(value)
	must(err == nil, "a value has no canonical form: %v", err)
	return text
}

// checkSigner checks that a key that the auditor brought leads to the key of the seal.
func checkSigner(by *seal, keysValue any, hasKeys bool, workspace string, asked request) failure {
	if hasKeys {
		keys := readKeys(keysValue, workspace)
		must(by.isSignedBy(keys[len(keys)-1]), "the last key did not sign the seal")
		if leadsTo(keys, asked.Keys) {
			return failure{}
		}
	}
	for _, text := range asked.Keys {
		var key [32]byte
		bytes, _ := hex.DecodeString(text)
		copy(key[:], bytes)
		if !hasKeys && by.isSignedBy(key) {
			return failure{}
		}
	}
	if len(asked.Keys) == 0 {
		return failure{}
	}
	return failure{2, "no given key leads to the key of the seal"}
}
