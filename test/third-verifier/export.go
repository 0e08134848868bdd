package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/bits"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// An export as it is read: what states it, its events, and what follows them.
type export struct {
	form      string
	header    object
	shown     []any
	erasures  any
	complete  bool
	workspace string
	events    []*event
	before    *event
	after     *event
	binding   *event
	start     time.Time
	end       time.Time
	seal      *seal
	restores  []*event
	pruned    int64
	vocabularies
}

// White space of JSON: nothing else may follow the end.
const white = " \t\r\n"

var always = []string{
	"format", "vocabulary", "workspace_id", "agent_id", "start_time", "end_time", "exported_at", "event_count", "before", "after",
	"binding", "proof", "seal", "public_key",
}

func verifyExport(content []byte, asked request) failure {
	x := &export{header: object{}}
	line, rest, _ := bytes.Cut(content, []byte("\n"))
	first, err := parse(line)
	if errors.Is(err, errTwice) && bytes.Contains(line, []byte(`"type":"header"`)) {
		undetermined("the first line cannot be read: %v", err)
	}
	header, is := first.(object)
	if _, hasType := header["type"]; is && hasType {
		x.readLines(header, rest)
	} else {
		x.readObject(content)
	}
	x.workspace, _ = x.header["workspace_id"].(string)
	if x.isLaterExport() {
		undetermined("this is an export of a later format")
	}
	for _, one := range x.shown {
		if hasLaterEnvelope(one) && len(x.events) > 0 {
			// Under a greater number it is of a later envelope, under a known one it is no event.
			x.checkVocabularies()
			must(x.number > vocabulary, "an event has an unknown format")
			x.complete = false
			break
		}
		x.events = append(x.events, shownEvent(one, x.workspace))
	}
	if !x.complete {
		x.checkVocabularies()
		x.checkChains()
		undetermined("the export is cut off")
	}
	x.readHeader()
	x.checkBinding()
	x.checkVocabularies()
	x.checkNumber()
	x.checkEdges()
	x.checkChains()
	if x.header["seal"] == nil {
		must(x.header["public_key"] == nil && x.header["proof"] == nil, "there is a key or a proof without a seal")
		must(x.header["restores"] == nil, "there are restores without a seal")
		must(x.header["keys"] == nil, "there are announced keys without a seal")
		x.checkBlanks(nil)
		return failure{2, "the export has no seal"}
	}
	keys := x.checkSeal()
	x.checkRestores()
	unsealed := x.checkBlanks(keys[len(keys)-1:])
	isTrusted := leadsTo(keys, asked.Keys)
	explained := x.checkKept(asked.Seals, isTrusted && len(asked.Keys) > 0 || len(asked.Keys) == 0 && x.beginsLog())
	if !isTrusted {
		return failure{2, "no given key leads to the key of the seal"}
	}
	if explained.code != 0 {
		return explained
	}
	if found := x.unknown(); found.code != 0 {
		return found
	}
	return unsealed
}

// readLines reads the ndjson form.
func (x *export) readLines(header object, rest []byte) {
	x.form, x.header = "ndjson", header
	if header["type"] != "header" {
		undetermined("this does not begin with a header")
	}
	delete(header, "type")
	for len(rest) > 0 {
		line, next, ended := bytes.Cut(rest, []byte("\n"))
		if x.complete {
			must(len(bytes.Trim(rest, white)) == 0, "something follows the trailer")
			return
		}
		value, err := parse(line)
		if err != nil && !ended {
			return
		}
		must(!errors.Is(err, errTwice), "%v", err)
		if err != nil {
			undetermined("a line is not JSON: %v", err)
		}
		members, _ := value.(object)
		kind := members["type"]
		delete(members, "type")
		if kind == "event" {
			x.shown = append(x.shown, members)
		} else {
			must(kind == "trailer", "a line is neither an event nor the trailer")
			x.readTrailer(members)
		}
		rest = next
	}
}

func (x *export) readTrailer(trailer object) {
	erasures, has := trailer["erasures"]
	if has {
		must(erasures != nil, "erasures is null")
		x.erasures = erasures
		delete(trailer, "erasures")
	}
	must(hasExactly(trailer, "event_count", "head"), "the trailer has other members")
	must(numberIn(trailer, "event_count") == int64(len(x.shown)), "the trailer has another count")
	head := any(nil)
	if len(x.shown) > 0 {
		head = x.shown[len(x.shown)-1].(object)["hash"]
	}
	must(trailer["head"] == head, "the trailer has another head")
	x.complete = true
}

// readObject reads the json form, as far as it goes.
func (x *export) readObject(content []byte) {
	x.form = "json"
	reader := json.NewDecoder(bytes.NewReader(content))
	reader.UseNumber()
	err := x.readMembers(reader)
	if err == nil {
		_, err = parse(content)
		must(err == nil, "the export is not JSON: %v", err)
		x.complete = true
		return
	}
	must(!errors.Is(err, errTwice), "%v", err)
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		undetermined("this is no export: %v", err)
	}
}

func (x *export) readMembers(reader *json.Decoder) error {
	if token, err := reader.Token(); err != nil || token != json.Delim('{') {
		undetermined("this is no export")
	}
	seen := object{}
	for reader.More() {
		name, err := nameOf(reader, seen)
		if err != nil {
			return err
		}
		seen[name] = true
		var value any
		if name == "events" {
			if seen["agent_id"] == nil {
				undetermined("the events stand before the agent_id")
			}
			err = x.readEvents(reader)
		} else if value, err = parseNext(reader); name == "erasures" {
			must(value != nil || err != nil, "erasures is null")
			x.erasures = value
		} else {
			x.header[name] = value
		}
		if err != nil {
			return err
		}
	}
	must(seen["events"] != nil, "the export has no events")
	_, err := reader.Token()
	return err
}

func (x *export) readEvents(reader *json.Decoder) error {
	if token, err := reader.Token(); err != nil || token != json.Delim('[') {
		undetermined("the export has no list of events")
	}
	for reader.More() {
		one, err := parseNext(reader)
		if err != nil {
			return err
		}
		x.shown = append(x.shown, one)
	}
	_, err := reader.Token()
	return err
}

func (x *export) readHeader() {
	if x.header["format"] != "governd.audit-export/1" {
		undetermined("this is no export of the present format")
	}
	names := append([]string{}, always...)
	for _, name := range []string{"keys", "restores"} {
		if value, has := x.header[name]; has {
			must(value != nil, "%s is null", name)
			names = append(names, name)
		}
	}
	must(hasExactly(x.header, names...), "the header has other members")
	must(numberIn(x.header, "event_count") == int64(len(x.events)), "the header has another count")
	if x.header["before"] != nil {
		x.before = bareEvent(x.header["before"], x.workspace)
		x.before.checkGenesis()
	}
	x.after = bareEvent(x.header["after"], x.workspace)
	x.binding = shownEvent(x.header["binding"], x.workspace)
	x.start, x.end = timeOf(x.header["start_time"]), timeOf(x.header["end_time"])
}

func timeOf(value any) time.Time {
	if value == nil {
		return time.Time{}
	}
	text, _ := value.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	must(err == nil, "%q is no time", text)
	return at
}

func (x *export) contains(at time.Time) bool {
	return (x.start.IsZero() || !at.Before(x.start)) && (x.end.IsZero() || at.Before(x.end))
}

// checkBinding compares what the event of the export says with the export.
func (x *export) checkBinding() {
	agent, by := x.header["agent_id"], x.binding
	must(by.operation == "audit.export" && by.result == "ok" && by.agent == agent, "binding is no event of this export")
	must(by.details != nil && by.members["timestamp"] == x.header["exported_at"], "binding has another time or no details")
	scope := any("workspace")
	if agent != nil {
		scope = nil
	}
	said := by.details
	must(said["scope"] == scope && said["format"] == x.form, "the event of the export is of another one")
	must(said["start_time"] == x.header["start_time"] && said["end_time"] == x.header["end_time"], "the window is another one")
	must(numberIn(said, "event_count") == int64(len(x.events)), "the event of the export counts other events")
	first, last := any(nil), any(nil)
	if count := len(x.events); count > 0 {
		first, last = placeOf(x.events[0]), placeOf(x.events[count-1])
	}
	must(isSame(said["first"], first) && isSame(said["last"], last), "the event of the export names other events")
	if said["pruned_before"] != nil {
		x.pruned = numberIn(said, "pruned_before")
	}
}

func placeOf(e *event) any {
	hash := hex.EncodeToString(e.hash[:])
	return object{"seq": e.members["seq"], "agent_seq": e.members["agent_seq"], "hash": hash}
}

func isSame(one, other any) bool { return mustCanonical(one) == mustCanonical(other) }

// checkEdges checks the events on both sides of the exported ones.
func (x *export) checkEdges() {
	if x.before != nil {
		outside := !x.contains(x.before.time) || x.before.seq < x.pruned
		must(outside, "the event before is of the window")
	}
	isItself := x.after.hash == x.binding.hash
	must(isItself || !x.contains(x.after.time), "the event after is of the window")
	must(x.after.seq <= x.binding.seq, "the event after is later than the export")
	for at, one := range x.events {
		must(one.seq >= x.pruned, "event %d was pruned", one.seq)
		isEdge := at == 0 || at == len(x.events)-1
		must(!isEdge || x.contains(one.time), "event %d is outside the window", one.seq)
	}
}

// checkChains checks the order and the links of all events, those on both sides included.
func (x *export) checkChains() {
	all := append([]*event{}, x.events...)
	isWhole := x.complete && x.before == nil
	if x.before != nil {
		all = append([]*event{x.before}, all...)
	}
	if x.after != nil {
		all = append(all, x.after)
	}
	agent := x.header["agent_id"]
	last := map[any]*event{}
	var previous *event
	for at, one := range all {
		before, known := last[one.agent]
		if agent != nil {
			must(one.agent == agent, "event %d is of another agent", one.seq)
			must(at == 0 && !isWhole || one.follows(previous), "event %d does not follow in its chain", one.seq)
		} else {
			must(at == 0 && !isWhole || one.seq == nextOf(previous), "event %d does not follow", one.seq)
			must(!known && !isWhole || one.follows(before), "event %d does not follow in its chain", one.seq)
		}
		last[one.agent], previous = one, one
	}
}

func nextOf(previous *event) int64 {
	if previous == nil {
		return 0
	}
	return previous.seq + 1
}

// checkSeal checks the seal, its proofs and its key. Returns the way to the key.
func (x *export) checkSeal() [][32]byte {
	x.seal = readSeal(x.header["seal"], x.workspace)
	must(x.seal.size == x.binding.seq+1, "the seal does not end with the event of the export")
	proof, _ := x.header["proof"].(object)
	x.seal.checkInclusion(x.binding, proof["binding"])
	must(x.binding.details["tree_root"] == rootOf(hashesOf(proof["binding"]), x.binding.seq), "tree_root is another one")
	if x.header["agent_id"] == nil {
		must(hasExactly(proof, "binding", "before", "after"), "the proof has other members")
		run := x.run()
		first := x.after.seq + 1 - int64(len(run))
		root := rootAround(x.seal.size, first, run, hashesOf(proof["before"]), hashesOf(proof["after"]))
		must(root == x.seal.root, "the events are not in the sealed tree")
	} else {
		must(hasExactly(proof, "binding", "path"), "the proof has other members")
		x.seal.checkInclusion(x.after, proof["path"])
	}
	key, name, ok := readKey(x.header["public_key"])
	must(ok && name == x.seal.origin.text, "the public key is not that of the seal")
	must(x.seal.isSignedBy(key), "the seal has another signature")
	keys := [][32]byte{key}
	value, has := x.header["keys"]
	if has {
		keys = readKeys(value, x.workspace)
		must(keys[len(keys)-1] == key, "the keys lead to another key")
	}
	// Without the way to it, an event of the log names the key.
	if x.beginsLog() && (has || x.isWhole()) {
		must(x.names(keys[0], has), "the log names another key")
	}
	return keys
}

// names says whether the first event names a key, or any event.
func (x *export) names(key [32]byte, onlyFirst bool) bool {
	for _, one := range x.events {
		announces := one.isAct("workspace.create") || one.isAct("seal.rotate_key")
		if announces && one.details["signing_key"] == fingerprint(key) {
			return true
		} else if onlyFirst {
			return false
		}
	}
	return false
}

// run is the leaves of the run of events that the proof is around.
func (x *export) run() (run []tlog.Hash) {
	if x.before != nil {
		run = append(run, x.before.hash)
	}
	for _, one := range x.events {
		run = append(run, one.hash)
	}
	return append(run, x.after.hash)
}

// rootOf returns the root over the leaves before the last one, which its inclusion proof holds: the complete subtrees,
// the smallest first.
func rootOf(path []tlog.Hash, size int64) string {
	must(len(path) == bits.OnesCount64(uint64(size)) && size > 0, "a proof has another length")
	root := path[0]
	for _, left := range path[1:] {
		root = tlog.NodeHash(left, root)
	}
	return hex.EncodeToString(root[:])
}

// isWhole says whether this is a workspace's export without a window.
func (x *export) isWhole() bool {
	return x.header["agent_id"] == nil && x.header["start_time"] == nil && x.header["end_time"] == nil
}

func (x *export) beginsLog() bool { return len(x.events) > 0 && x.events[0].seq == 0 }

// checkRestores checks the epochs that are shown, and that the seal is of the last one.
func (x *export) checkRestores() {
	shown, has := x.header["restores"]
	isWholeLog := x.isWhole() && x.beginsLog()
	count := x.binding.details["restores"]
	if isWholeLog {
		must(!has, "an export of the whole log shows restores apart")
		for _, one := range x.events {
			if one.operation == "log.restore" {
				x.restores = append(x.restores, one)
			}
		}
	} else if has {
		list, _ := shown.([]any)
		must(len(list) > 0, "restores is no list")
		for _, one := range list {
			members, _ := one.(object)
			must(hasExactly(members, "event", "path"), "a restore has other members")
			event := shownEvent(members["event"], x.workspace)
			x.seal.checkInclusion(event, members["path"])
			x.restores = append(x.restores, event)
		}
	}
	must(mustCanonical(count) == mustCanonical(json.Number(itoa(len(x.restores)))), "restores are missing")
	origin := ""
	last := int64(-1)
	for _, one := range x.restores {
		must(one.isAct("log.restore") && one.seq > last, "event %d restores nothing", one.seq)
		after, before := readOrigin(one.details["origin"], x.workspace), readOrigin(one.details["previous_origin"], x.workspace)
		must(after.log == before.log && after.epoch > before.epoch, "event %d begins no epoch", one.seq)
		must(origin == "" || origin == before.text, "event %d ends another epoch", one.seq)
		origin, last = after.text, one.seq
	}
	if origin == "" {
		must(x.seal.origin.epoch == 1, "the seal is of an epoch that nothing began")
	} else {
		must(x.seal.origin.text == origin, "the seal is of another epoch")
	}
}

func itoa(number int) string { return strconv.Itoa(number) }

// originAt returns the origin in force at a size, as far as restores are shown.
func (x *export) originAt(size int64) string {
	for _, one := range x.restores {
		if one.seq >= size {
			return one.details["previous_origin"].(string)
		}
	}
	return x.seal.origin.text
}

// checkBlanks checks that erasures name exactly the events without details.
func (x *export) checkBlanks(keys [][32]byte) failure {
	named := map[int64]bool{}
	for at := len(x.events) - 1; at >= 0; at-- {
		if one := x.events[at]; one.isErasure() && !one.isNewer {
			nameErased(one, named)
		}
	}
	unsealed := map[int64]bool{}
	if numberIn(x.header, "vocabulary") <= vocabulary {
		unsealed = x.checkErasures(keys, named)
	}
	for _, one := range x.events {
		isNamed := named[one.seq]
		canBe := one.canBeErased() || one.isNewer
		// What erased them may be an event whose meaning is not known.
		must(one.details != nil || isNamed || x.newer, "the details of event %d are missing", one.seq)
		must(one.details == nil || !isNamed, "the details of event %d were put back", one.seq)
		must(!isNamed || canBe, "event %d cannot lose its details", one.seq)
	}
	if len(unsealed) > 0 {
		return failure{2, "no seal covers an erasure"}
	}
	return failure{}
}

// nameErased adds the positions that an erasure names.
func nameErased(erasure *event, named map[int64]bool) {
	count := numberIn(erasure.details, "events")
	list, is := erasure.details["erased"].([]any)
	must(is, "an erasure names no positions")
	last := int64(-1)
	for _, one := range list {
		pair, _ := one.([]any)
		must(len(pair) == 2, "an erasure has no range")
		ends := object{"from": pair[0], "to": pair[1]}
		from, to := numberIn(ends, "from"), numberIn(ends, "to")
		must(from > last && from <= to && to < erasure.seq, "the ranges of an erasure are out of order")
		count -= to - from + 1
		must(count >= 0, "an erasure names more events than it counts")
		for seq := from; seq <= to; seq++ {
			named[seq] = true
		}
		last = to
	}
	must(count == 0, "an erasure names fewer events than it counts")
}

// checkErasures adds what erasures after the last event name. Returns the positions that no seal covers.
func (x *export) checkErasures(keys [][32]byte, named map[int64]bool) map[int64]bool {
	unsealed := map[int64]bool{}
	if x.erasures == nil {
		return unsealed
	}
	members, _ := x.erasures.(object)
	must(hasExactly(members, "events", "seal") && len(x.events) > 0, "erasures has other members")
	list, _ := members["events"].([]any)
	must(len(list) > 0, "erasures has no events")
	var by *seal
	if members["seal"] != nil {
		by = readSeal(members["seal"], x.workspace)
		must(len(keys) == 0 || by.isSignedBy(keys[0]), "the seal of the erasures has another signature")
	}
	last := x.events[len(x.events)-1].seq
	for _, one := range list {
		members, _ := one.(object)
		must(hasExactly(members, "event", "path"), "an erasure has other members")
		erasure := shownEvent(members["event"], x.workspace)
		must(erasure.isErasure(), "this is no erasure")
		must(erasure.seq > last, "an erasure is not after the events")
		of := map[int64]bool{}
		nameErased(erasure, of)
		if members["path"] != nil {
			must(by != nil, "erasures have no seal")
			by.checkInclusion(erasure, members["path"])
		}
		for seq := range of {
			named[seq] = true
			if members["path"] == nil || len(keys) == 0 {
				unsealed[seq] = true
			}
		}
	}
	return unsealed
}

// checkKept compares the log with seals that the auditor kept. Only a seal by a trusted key proves the restores.
func (x *export) checkKept(paths []string, provesRestores bool) (open failure) {
	run := x.run()
	first := x.after.seq + 1 - int64(len(run))
	for _, kept := range keptSeals(paths, x.workspace) {
		if kept.origin.text != x.originAt(kept.size) {
			must(!provesRestores || x.explains(kept), "a kept seal is of an epoch that had ended")
			if !provesRestores {
				open = failure{2, "nothing proves the restores that a kept seal contradicts"}
			}
			continue
		}
		must(!x.isWhole() || kept.size <= x.seal.size, "a kept seal covers later events")
		must(kept.size != x.seal.size || kept.root == x.seal.root, "a kept seal has another root")
		known := x.after.seq
		if x.isWhole() {
			known++
		}
		switch {
		case x.header["agent_id"] == nil && first == 0 && kept.size <= known:
			root := rootAround(kept.size, first, run[:kept.size], nil, nil)
			must(root == kept.root, "a kept seal has another root")
		case kept.size != x.seal.size:
			open = failure{2, "a kept seal is another one than the export was made under"}
		}
	}
	return open
}

// explains says whether a restore names the seal as lost.
func (x *export) explains(kept *seal) bool {
	root := hex.EncodeToString(kept.root[:])
	for _, one := range x.restores {
		list, _ := one.details["lost_seals"].([]any)
		for _, lost := range list {
			is := object{"origin": kept.origin.text, "size": json.Number(itoa(int(kept.size))), "root": root}
			if isSame(lost, is) {
				return true
			}
		}
	}
	return false
}
