package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// What ends the verification: the evidence contradicts itself (1), or nothing can be established (2).
type failure struct {
	code int
	why  string
}

func tampered(form string, words ...any)     { panic(failure{1, fmt.Sprintf(form, words...)}) }
func undetermined(form string, words ...any) { panic(failure{2, fmt.Sprintf(form, words...)}) }

func must(is bool, form string, words ...any) {
	if !is {
		tampered(form, words...)
	}
}

// What a form that evidence must not have is: of an export it contradicts the evidence, of a receipt nothing is established.
var formCode = 1

func formed(is bool, form string, words ...any) {
	if !is {
		panic(failure{formCode, fmt.Sprintf(form, words...)})
	}
}

// An event, as bytes and as what they say.
type event struct {
	members   object
	bytes     string
	hash      tlog.Hash
	seq       int64
	agentSeq  int64
	agent     any
	operation string
	result    string
	time      time.Time
	// nil when they were erased, or in an event that is shown without them.
	details object
	// Whether it is under a greater vocabulary than is known here.
	isNewer bool
}

const (
	id        = `_[0-7][0-9a-hjkmnp-tv-z]{25}`
	name      = `[a-z][a-z0-9_]{0,63}`
	digest    = `[0-9a-f]{64}`
	integer   = `(0|[1-9][0-9]*)`
	timeForm  = "2006-01-02T15:04:05.000Z"
	zeros     = "0000000000000000000000000000000000000000000000000000000000000000"
	maxNumber = 1<<53 - 1
)

// The members of an event in the order of their names, and their forms as JSON.
var forms = []struct {
	name string
	form *regexp.Regexp
}{
	{"actor", form(`"([a-z]{3}` + id + `|[a-z]{1,16})"`)},
	{"agent_id", form(`("[A-Za-z0-9._:@~-]{1,128}"|null)`)},
	{"agent_seq", form(integer)},
	{"blocked_by", form(`("policy:` + name + `"|null)`)},
	{"config_version", form(`("v` + integer + `"|null)`)},
	{"details_commitment", form(`"` + digest + `"`)},
	{"format", form(`"governd\.audit/1"`)},
	{"id", form(`"aud` + id + `"`)},
	{"operation", form(`"` + name + `\.` + name + `"`)},
	{"previous_hash", form(`"` + digest + `"`)},
	{"result", form(`"` + name + `"`)},
	{"seq", form(integer)},
	{"timestamp", form(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)},
	{"workspace_id", form(`"ws` + id + `"`)},
}

func form(text string) *regexp.Regexp { return regexp.MustCompile(`^` + text + `$`) }

var saltForm = form(`[0-9a-f]{32}`)

var (
	erasable = form(`(data\.(write|read|read_full|versions|list|query|search|delete|delete_prefix)|account\..*|proof\.create)`)
	// Of the operations above, those whose details stay.
	kept   = form(`account\.(erase|require_issuer)`)
	erases = form(`(data|account)\.erase`)
)

// canBeErased tells whether an erasure can destroy the details of an event.
func (e *event) canBeErased() bool {
	return erasable.MatchString(e.operation) && !kept.MatchString(e.operation)
}

// isErasure tells whether an event names others whose details it destroyed.
func (e *event) isErasure() bool {
	return erases.MatchString(e.operation) && e.result == "ok" && e.details != nil
}

// positionIn returns the first 64 of the 128 bits in an id.
func positionIn(id string) int64 {
	position := uint64(0)
	for at := 4; at < 18; at++ {
		value := uint64(strings.IndexByte("0123456789abcdefghjkmnpqrstvwxyz", id[at]))
		if at < 17 {
			position = position<<5 | value
		} else {
			position = position<<1 | value>>4
		}
	}
	return int64(position)
}

// bareEvent reads an event that is shown as its 14 members alone.
func bareEvent(value any, workspace string) *event {
	members, _ := value.(object)
	formed(len(members) == len(forms), "an event does not have its 14 members")
	separator, text := "{", ""
	for _, member := range forms {
		value, has := members[member.name]
		written, err := canonical(value)
		formed(has && err == nil && member.form.MatchString(written), "%s of an event has another form", member.name)
		text += separator + `"` + member.name + `":` + written
		separator = ","
	}
	text += "}"
	at, err := time.Parse(timeForm, members["timestamp"].(string))
	formed(err == nil, "an event has no time")
	must(members["workspace_id"] == workspace, "an event is of another workspace")
	must(positionIn(members["id"].(string)) == numberIn(members, "seq"), "the id of an event is that of another position")
	return &event{
		members: members, bytes: text, hash: tlog.RecordHash([]byte(text)), time: at, agent: members["agent_id"],
		seq: numberIn(members, "seq"), agentSeq: numberIn(members, "agent_seq"),
		operation: members["operation"].(string), result: members["result"].(string),
	}
}

// shownEvent reads an event that is shown with its details and its hash, and checks both.
func shownEvent(value any, workspace string) *event {
	shown, _ := value.(object)
	members := object{}
	for name, value := range shown {
		members[name] = value
	}
	for _, name := range []string{"details", "details_salt", "hash"} {
		_, has := shown[name]
		formed(has, "an event lacks its %s", name)
		delete(members, name)
	}
	one := bareEvent(members, workspace)
	stated, isText := shown["hash"].(string)
	formed(isText, "the hash of event %d has another form", one.seq)
	must(stated == hex.EncodeToString(one.hash[:]), "event %d has another hash", one.seq)
	if shown["details"] == nil {
		one.checkNoSalt(shown["details_salt"])
	} else {
		text, err := canonical(shown["details"])
		formed(err == nil, "the details of event %d are not canonical: %v", one.seq, err)
		one.setDetails(shown["details"], text, shown["details_salt"])
	}
	one.checkGenesis()
	return one
}

// checkNoSalt checks what stands beside details that were erased.
func (e *event) checkNoSalt(salt any) {
	text, _ := salt.(string)
	formed(salt == nil || saltForm.MatchString(text), "the salt of event %d has another form", e.seq)
	must(salt == nil, "event %d has a salt without details", e.seq)
}

func (e *event) setDetails(details any, text string, salt any) {
	is := false
	e.details, is = details.(object)
	formed(is, "the details of event %d are no object", e.seq)
	must(salt != nil, "event %d has details without a salt", e.seq)
	asText, _ := salt.(string)
	bytes, err := hex.DecodeString(asText)
	formed(err == nil && saltForm.MatchString(asText), "event %d has no salt", e.seq)
	sum := sha256.Sum256(append(bytes, text...))
	must(hex.EncodeToString(sum[:]) == e.members["details_commitment"], "event %d has other details", e.seq)
}

func (e *event) checkGenesis() {
	if e.seq != 0 {
		return
	}
	is := e.operation == "workspace.create" && e.agent == nil && e.agentSeq == 1 && e.result == "ok"
	must(is && e.members["previous_hash"] == zeros, "event 0 does not create a workspace")
}

// follows says whether the event is the next one of the same chain.
func (e *event) follows(before *event) bool {
	if before == nil {
		return e.agentSeq == 1 && e.members["previous_hash"] == zeros
	}
	links := e.members["previous_hash"] == hex.EncodeToString(before.hash[:])
	return links && e.agent == before.agent && e.agentSeq == before.agentSeq+1 && e.seq > before.seq
}

// isAct says whether this is a successful act on the workspace itself.
func (e *event) isAct(operation string) bool {
	return e.operation == operation && e.agent == nil && e.result == "ok" && e.details != nil
}

func numberIn(members object, name string) int64 {
	text, is := members[name].(json.Number)
	formed(is, "%s is no number", name)
	// 1.0 and 1e0 are the number 1, however they are written.
	written, err := numberOf(text)
	formed(err == nil && form(integer).MatchString(written), "%s is no integer from 0 on", name)
	number, err := strconv.ParseInt(written, 10, 64)
	formed(err == nil && number <= maxNumber, "%s is too large", name)
	return number
}

func hashOf(value any) tlog.Hash {
	text, _ := value.(string)
	must(form(digest).MatchString(text), "%q is no hash", text)
	bytes, _ := hex.DecodeString(text)
	return tlog.Hash(*(*[32]byte)(bytes))
}

func hashesOf(value any) []tlog.Hash {
	list, is := value.([]any)
	must(is, "there is no list of hashes")
	all := make([]tlog.Hash, len(list))
	for at, one := range list {
		all[at] = hashOf(one)
	}
	return all
}

// rootAround returns the root of a tree of `size` leaves from a run of leaves that begins at `first`, and the complete
// subtrees on both sides of it, from left to right. With null in place of hashes, these are all that may be missing.
func rootAround(size, first int64, run, before, after []tlog.Hash) tlog.Hash {
	end := first + int64(len(run))
	var root func(from, to int64) tlog.Hash
	root = func(from, to int64) tlog.Hash {
		width := to - from
		outside := to <= first || from >= end
		if outside && width&(width-1) == 0 {
			side := &before
			if from >= end {
				side = &after
			}
			must(len(*side) > 0, "a proof is too short")
			hash := (*side)[0]
			*side = (*side)[1:]
			return hash
		}
		if width == 1 {
			return run[from-first]
		}
		half := int64(1)
		for half*2 < width {
			half *= 2
		}
		left := root(from, from+half)
		return tlog.NodeHash(left, root(from+half, to))
	}
	must(end <= size && size > 0, "a seal does not cover the events")
	whole := root(0, size)
	must(len(before) == 0 && len(after) == 0, "a proof is too long")
	return whole
}
