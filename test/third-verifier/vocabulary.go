package main

import (
	"regexp"
	"strings"
)

// The greatest number of a vocabulary that is known here, with its results and its actors.
const vocabulary = 1

var (
	operations = map[string]*regexp.Regexp{}
	results    = form(`(ok|allowed|blocked|not_found|conflict|denied)`)
	actors     = form(`((key|usr|wid)_.*|cli|system)`)
	// What says how the log is sealed, and which vocabulary it has.
	fixed = form(`(workspace\.create|seal\.rotate_key|log\.restore|log\.vocabulary)`)
	later = form(`governd\.audit/([2-9]|[1-9][0-9]+)`)
)

// Its operations: by their first part, all second parts.
var parts = map[string]string{
	"account":      "create|sign_in|end_sessions|change_password|rename|begin_totp|confirm_totp|disable_totp|renew_codes|reset_password|add_passkey|remove_passkey|link_identity|unlink_identity|require_issuer|link|unlink|erase",
	"agent":        "read|suspend|resume|list",
	"audit":        "verify|query|read|receipt|export|stream|activity|prune",
	"checkpoint":   "list|create|read|compare|restore|delete",
	"config":       "read|read_version|list_versions|read_effective|update|rollback",
	"dashboard":    "view",
	"data":         "write|read|read_full|versions|list|query|search|delete|delete_prefix|erase|expire",
	"installation": "heads|add_workspace|delete_workspace",
	"key":          "create|change|revoke|rotate",
	"lineage":      "read",
	"log":          "vocabulary|restore",
	"member":       "invite|uninvite|join|change|remove",
	"policies":     "read|list_versions|read_version|update",
	"policy":       "check|replay",
	"quarantine":   "preview|set|release",
	"seal":         "rotate_key",
	"proof":        "create",
	"sink":         "create|change|rotate|remove|test",
	"state":        "root",
	"workload":     "begin",
	"workspace":    "create|change",
}

func init() {
	for first, second := range parts {
		operations[first] = form(`(` + second + `)`)
	}
}

func isKnown(operation string) bool {
	first, second, _ := strings.Cut(operation, ".")
	of := operations[first]
	return of != nil && of.MatchString(second)
}

// The vocabularies that the events of an export are under.
type vocabularies struct {
	number int64
	// Whether an event announced it.
	announced bool
	// Whether an event is under a greater number than is known here.
	newer bool
}

// announces says whether an event announces a number.
func (e *event) announces() bool {
	operation := "log.vocabulary"
	if e.seq == 0 {
		operation = "workspace.create"
	}
	return e.isAct(operation)
}

// startsWith returns the number before the first event: an announcement is of the number before it.
func (x *export) startsWith() int64 {
	for _, one := range x.events {
		if one.announces() {
			if number := numberIn(one.details, "vocabulary") - 1; number > 0 {
				return number
			}
			return vocabulary
		}
	}
	if x.header["vocabulary"] == nil {
		return vocabulary
	}
	return numberIn(x.header, "vocabulary")
}

// checkVocabularies checks the numbers that are announced, and of each event what its number says of it.
func (x *export) checkVocabularies() {
	v := &x.vocabularies
	v.number = x.startsWith()
	for _, one := range x.events {
		if one.seq == 0 && one.details != nil {
			v.number, v.announced = numberIn(one.details, "vocabulary"), true
		}
		v.newer = v.newer || v.number > vocabulary
		one.check(v.number)
		if one.seq > 0 && one.announces() {
			next := numberIn(one.details, "vocabulary")
			is := one.members["actor"] == "system" && hasExactly(one.details, "vocabulary")
			must(is && next == v.number+1, "event %d announces another vocabulary than the next one", one.seq)
			v.number, v.announced = next, true
		}
	}
}

// check checks what is said of an event under a number.
func (e *event) check(number int64) {
	actor, _ := e.members["actor"].(string)
	e.isNewer = number > vocabulary
	known := isKnown(e.operation) && results.MatchString(e.result) && actors.MatchString(actor)
	must(number > vocabulary || known, "event %d has an unknown operation, result or actor", e.seq)
	isFixed := fixed.MatchString(e.operation) && e.agent == nil && e.result == "ok"
	must(e.details != nil || e.canBeErased() || e.isNewer && !isFixed, "the details of event %d are missing", e.seq)
}

// checkNumber compares the number that an export states with its event, and with what its events announce.
func (x *export) checkNumber() {
	stated, v := numberIn(x.header, "vocabulary"), x.vocabularies
	must(stated == numberIn(x.binding.details, "vocabulary"), "the event of the export states another vocabulary")
	atEnd := x.header["agent_id"] == nil && x.after.seq == x.binding.seq
	is := !v.announced || stated == v.number || !atEnd && stated > v.number
	must(is, "the export states another vocabulary than its events")
}

// unknown is what keeps the answer from being established.
func (x *export) unknown() failure {
	if x.vocabularies.newer || numberIn(x.header, "vocabulary") > vocabulary {
		return failure{2, "events are, or may be, under a greater vocabulary than is known here"}
	}
	return failure{}
}

// hasLaterEnvelope says whether a shown event names a later format.
func hasLaterEnvelope(shown any) bool {
	members, _ := shown.(object)
	name, _ := members["format"].(string)
	return later.MatchString(name)
}

// isLaterExport says whether this is an export of a later format.
func (x *export) isLaterExport() bool {
	name, _ := x.header["format"].(string)
	return strings.HasPrefix(name, "governd.audit-export/") && name != "governd.audit-export/1"
}
