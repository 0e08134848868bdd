package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An object of JSON. Values are nil, bool, string, json.Number, []any and object.
type object map[string]any

var errTwice = errors.New("a member appears twice")

// parse reads one JSON value with nothing but white space around it. No member may appear twice.
func parse(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("this is not UTF-8")
	}
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	value, err := parseNext(reader)
	if err == nil {
		if _, err = reader.Token(); err == io.EOF {
			return value, nil
		} else if err == nil {
			err = fmt.Errorf("something follows the value")
		}
	}
	return nil, err
}

func parseNext(reader *json.Decoder) (any, error) {
	token, err := reader.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for reader.More() {
			one, err := parseNext(reader)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		_, err = reader.Token()
		return list, err
	case json.Delim('{'):
		members := object{}
		for reader.More() {
			name, err := nameOf(reader, members)
			if err != nil {
				return nil, err
			}
			if members[name], err = parseNext(reader); err != nil {
				return nil, err
			}
		}
		_, err = reader.Token()
		return members, err
	}
	return token, nil
}

// nameOf reads the name of the next member of an object.
func nameOf(reader *json.Decoder, members object) (string, error) {
	token, err := reader.Token()
	if err != nil {
		return "", err
	}
	name, is := token.(string)
	if _, twice := members[name]; twice || !is {
		return "", fmt.Errorf("%q: %w", name, errTwice)
	}
	return name, nil
}

// canonical writes a value as RFC 8785 does. It fails for integers that a number of double precision cannot hold.
func canonical(value any) (string, error) { return canonicalAt(value, 1) }

// Details are nested at most so many levels deep.
const maxDepth = 128

func canonicalAt(value any, depth int) (string, error) {
	switch value.(type) {
	case []any, object:
		if depth > maxDepth {
			return "", fmt.Errorf("nested deeper than %d levels", maxDepth)
		}
	}
	switch is := value.(type) {
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(is), nil
	case string:
		return quoted(is), nil
	case json.Number:
		return numberOf(is)
	case []any:
		all := make([]string, len(is))
		for at, one := range is {
			text, err := canonicalAt(one, depth+1)
			if err != nil {
				return "", err
			}
			all[at] = text
		}
		return "[" + strings.Join(all, ",") + "]", nil
	case object:
		names := make([]string, 0, len(is))
		for name := range is {
			names = append(names, name)
		}
		sort.Slice(names, func(one, other int) bool { return isBefore(names[one], names[other]) })
		for at, name := range names {
			text, err := canonicalAt(is[name], depth+1)
			if err != nil {
				return "", err
			}
			names[at] = quoted(name) + ":" + text
		}
		return "{" + strings.Join(names, ",") + "}", nil
	}
	return "", fmt.Errorf("%T is no value of JSON", value)
}

// isBefore orders names by their UTF-16 code units.
func isBefore(one, other string) bool {
	first, second := utf16.Encode([]rune(one)), utf16.Encode([]rune(other))
	for at := 0; at < len(first) && at < len(second); at++ {
		if first[at] != second[at] {
			return first[at] < second[at]
		}
	}
	return len(first) < len(second)
}

func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}
	for _, one := range text {
		if escape, is := short[one]; is {
			out.WriteString(escape)
		} else if one < ' ' {
			fmt.Fprintf(&out, `\u%04x`, one)
		} else {
			out.WriteRune(one)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// numberOf writes a number as ECMAScript does, as encoding/json also does but for -0.
func numberOf(text json.Number) (string, error) {
	number, err := text.Float64()
	if err != nil {
		return "", err
	}
	if number == 0 {
		return "0", nil
	}
	written, err := json.Marshal(number)
	isInteger := !strings.ContainsAny(text.String(), ".eE")
	if isInteger && math.Abs(number) < 1e21 && string(written) != text.String() {
		return "", fmt.Errorf("no number of double precision is %s", text)
	}
	return string(written), err
}
