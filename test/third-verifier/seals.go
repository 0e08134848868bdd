package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A seal: a checkpoint of the log.
type seal struct {
	text   string
	origin origin
	size   int64
	root   tlog.Hash
}

// An origin names a log and its epoch.
type origin struct {
	text  string
	log   string
	epoch int64
}

func readOrigin(text any, workspace string) origin {
	whole, _ := text.(string)
	parts := strings.Split(whole, "/"+workspace)
	must(len(parts) == 2 && parts[0] != "", "%q is no origin of this workspace", whole)
	is := origin{whole, parts[0] + "/" + workspace, 1}
	if parts[1] != "" {
		must(form(`/[1-9][0-9]{0,14}`).MatchString(parts[1]), "%q has no epoch", whole)
		is.epoch, _ = strconv.ParseInt(parts[1][1:], 10, 64)
		must(is.epoch >= 2, "%q has no epoch", whole)
	}
	return is
}

var (
	control   = regexp.MustCompile(`[\x00-\x1f]`)
	signature = regexp.MustCompile(`^— [^ ]+ ([A-Za-z0-9+/=]+)$`)
)

func readSeal(value any, workspace string) *seal {
	text, _ := value.(string)
	lines := strings.Split(text, "\n")
	formed(len(lines) > 5 && lines[3] == "" && lines[len(lines)-1] == "", "a seal has another form")
	formed(form(integer).MatchString(lines[1]), "a seal has no size")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	formed(err == nil && size > 0 && size <= maxNumber, "a seal has no size")
	root, err := tlog.ParseHash(lines[2])
	formed(err == nil && root.String() == lines[2], "a seal has no root")
	formed(!control.MatchString(strings.ReplaceAll(text, "\n", "")), "a seal has control characters")
	for _, line := range lines[4 : len(lines)-1] {
		parts := signature.FindStringSubmatch(line)
		formed(parts != nil, "a signature of a seal has another form")
		_, err := base64.StdEncoding.Strict().DecodeString(parts[1])
		formed(err == nil, "a signature of a seal is not base64")
	}
	return &seal{text, readOrigin(lines[0], workspace), size, root}
}

// isSignedBy says whether the 32 bytes of a key signed the seal under its origin.
func (s *seal) isSignedBy(key [32]byte) bool {
	verifier, err := note.NewVerifier(verifierKey(s.origin.text, key))
	if err != nil {
		return false
	}
	opened, err := note.Open([]byte(s.text), note.VerifierList(verifier))
	return err == nil && len(opened.Sigs) == 1
}

func (s *seal) checkInclusion(of *event, path any) {
	must(of.seq < s.size, "the seal over %d events does not cover event %d", s.size, of.seq)
	err := tlog.CheckRecord(hashesOf(path), s.size, s.root, of.seq, of.hash)
	must(err == nil, "event %d is not in the sealed tree", of.seq)
}

func verifierKey(name string, key [32]byte) string {
	encoded := append([]byte{1}, key[:]...)
	sum := sha256.Sum256(append([]byte(name+"\n"), encoded...))
	return fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(encoded))
}

// readKey reads a verifier key, name+hash+key.
func readKey(value any) (key [32]byte, name string, ok bool) {
	text, _ := value.(string)
	parts := strings.SplitN(text, "+", 3)
	if len(parts) != 3 {
		return
	}
	bytes, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(bytes) != 33 || bytes[0] != 1 {
		return
	}
	copy(key[:], bytes[1:])
	return key, parts[0], verifierKey(parts[0], key) == text
}

func fingerprint(key [32]byte) string {
	sum := sha256.Sum256(append([]byte{1}, key[:]...))
	return hex.EncodeToString(sum[:])
}

// readKeys follows the way from a log's first key to the present one. Returns all of them.
func readKeys(value any, workspace string) [][32]byte {
	defer func(before int) { formCode = before }(formCode)
	formCode = 1
	list, _ := value.([]any)
	must(len(list) > 1, "keys is no list of keys")
	var keys [][32]byte
	last := int64(-1)
	for at, one := range list {
		link, _ := one.(object)
		must(hasExactly(link, "public_key", "event", "path", "seal"), "a link between keys has other members")
		key, name, ok := readKey(link["public_key"])
		must(ok, "a link between keys has no key")
		readOrigin(name, workspace)
		event := shownEvent(link["event"], workspace)
		operation := "seal.rotate_key"
		if at == 0 {
			operation = "workspace.create"
		}
		must(event.isAct(operation) && event.seq > last, "a link between keys is no announcement")
		must(event.details["signing_key"] == fingerprint(key), "the event announces another key")
		signer := key
		if at > 0 {
			signer = keys[at-1]
		}
		by := readSeal(link["seal"], workspace)
		must(by.isSignedBy(signer), "a link between keys is not sealed by the key before")
		by.checkInclusion(event, link["path"])
		last = event.seq
		keys = append(keys, key)
	}
	return keys
}

// leadsTo says whether one of the keys that the auditor brought is one of these. Without any, the log's own are taken.
func leadsTo(keys [][32]byte, brought []string) bool {
	for _, key := range keys {
		for _, text := range brought {
			if text == hex.EncodeToString(key[:]) {
				return true
			}
		}
	}
	return len(brought) == 0
}

// keptSeals reads files of seals that the auditor kept.
func keptSeals(paths []string, workspace string) (kept []*seal) {
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			undetermined("%v", err)
		}
		if !bytes.HasSuffix(content, []byte("\n\n")) {
			content = append(content, '\n')
		}
		for len(content) > 0 {
			signatures := bytes.Index(content, []byte("\n\n— "))
			if signatures < 0 {
				undetermined("a kept seal is cut off")
			}
			length := bytes.Index(content[signatures+2:], []byte("\n\n"))
			if length < 0 {
				undetermined("a kept seal is cut off")
			}
			end := signatures + 2 + length + 1
			kept = append(kept, readSeal(string(content[:end]), workspace))
			content = content[end+1:]
		}
	}
	return kept
}
