package twindex

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

type step map[string]any

// lacking are the steps that the wrapper has no verbs for.
var lacking = strings.Fields("take first last pop_first pop_last delete_range delete_prefix seek key snapshot transaction")

// What every language must do alike. `npm run build` in wasm/npm makes the module.
func TestVectors(t *testing.T) {
	e := must(New(context.Background(), must(os.ReadFile("../../wasm/npm/twindex.fast.wasm")), 42))
	decoder := json.NewDecoder(bytes.NewReader(must(os.ReadFile("../../conformance/vectors.json"))))
	decoder.UseNumber()
	var file struct {
		Cases []struct {
			Name  string
			Index []string
			Steps []step
		}
	}
	if err := decoder.Decode(&file); err != nil || len(file.Cases) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, one := range file.Cases {
		if slices.ContainsFunc(one.Steps, func(s step) bool { return slices.Contains(lacking, s["do"].(string)) }) {
			continue
		}
		for _, index := range append(one.Index, "")[:max(1, len(one.Index))] {
			r := runner{e, must(e.NewStore(NoLimit)), map[string]Object{}}
			if index != "" {
				r.objects["t"] = must(r.store.Table("t", index))
			}
			for number, step := range one.Steps {
				wanted, _ := step["expect"].(map[string]any)
				code, _ := wanted["error"].(string)
				if code == "TWINDEX_TYPE" || code == "TWINDEX_RANGE" {
					continue // Go cannot say that
				}
				outcome, err := r.run(step)
				mentions, _ := wanted["mentions"].(string)
				var failed *Error
				if code != "" && errors.As(err, &failed) && failed.Code == code && strings.Contains(failed.Text, mentions) {
					continue
				}
				if code != "" || err != nil || !reflect.DeepEqual(outcome, plain(step["expect"])) {
					t.Fatalf("%s, %s, step %d, %.300v: %.300v, %v", one.Name, index, number, step, outcome, err)
				}
			}
		}
	}
}

// plain has text for what the file writes as text, hex or hex repeated, int64 for numbers, and nil for null.
func plain(value any) any {
	switch value := value.(type) {
	case []any:
		list := []any{}
		for _, item := range value {
			list = append(list, plain(item))
		}
		return list
	case json.Number:
		return must(value.Int64())
	case map[string]any:
		digits, is := value["hex"].(string)
		if !is {
			digits = strings.Repeat(value["repeat"].(string), int(plain(value["times"]).(int64)))
		}
		return string(must(hex.DecodeString(digits)))
	}
	return value
}

// runner has a store, its open tables by their names and its cursors by theirs.
type runner struct {
	engine  *Engine
	store   Object
	objects map[string]Object
}

// arguments are those of each verb in the order of the module's function.
var arguments = map[string]string{
	"tables": "", "drop_table": "name", "table": "name index", "memory_limit": "bytes", "len": "", "clear": "",
	"insert": "key value", "replace": "key value", "upsert": "key value", "delete": "key", "contains": "key", "select": "key",
	"increment": "key by", "compare_and_swap": "key expected new", "insert_many": "pairs", "replace_many": "pairs",
	"upsert_many": "pairs", "delete_many": "keys", "contains_many": "keys", "select_many": "keys", "increment_many": "amounts",
	"compare_and_swap_many": "swaps", "cursor": "gt lt", "scan": "gt lt reverse limit all", "scan_asc_next": "",
	"scan_desc_next": "", "scan_asc_next_many": "limit all", "scan_desc_next_many": "limit all",
}

func (s step) argument(name string) any {
	value := plain(s[name])
	switch name {
	case "gt", "lt":
		for name, make := range map[string]func(string) Bound{name: Excluding, name + "e": Including, "prefix": Prefix} {
			if key := plain(s[name]); key != nil {
				return make(key.(string))
			}
		}
		return Bound{}
	case "bytes", "limit", "all":
		if value == nil {
			return map[bool]int64{true: NoLimit, false: All}[name == "bytes"]
		}
	case "reverse":
		return map[bool]int64{true: 1, false: 0}[value == true]
	case "keys", "pairs", "swaps", "amounts":
		block := ""
		for _, item := range value.([]any) {
			if name == "keys" {
				block += Pack(item)
			} else if name == "amounts" {
				key, by := item.([]any)[0].(string), uint64(item.([]any)[1].(int64))
				block += string(little.AppendUint64(little.AppendUint32(nil, uint32(len(key))), by)) + key
			} else {
				block += Pack(item.([]any)...)
			}
		}
		return block
	}
	return value
}

func (r *runner) run(s step) (any, error) {
	verb, id := s["do"].(string), s["id"]
	name, is := s["table"].(string)
	if !is {
		name = "t"
	}
	object := r.objects[name]
	passed := []any{}
	for _, argument := range strings.Fields(arguments[verb]) {
		passed = append(passed, s.argument(argument))
	}
	switch verb {
	case "load":
		_, err := r.engine.Load(plain(s["bytes"]).(string), NoLimit)
		return nil, err
	case "close":
		return nil, r.store.Close()
	case "reload":
		dump, err := r.store.Call("dump")
		if err != nil {
			return nil, err
		}
		r.store.Close()
		r.store = must(r.engine.Load(dump.Bytes, NoLimit))
		for _, table := range must(r.store.Call("tables")).Pairs() {
			r.objects[table.Key] = must(r.store.Table(table.Key, table.Value))
		}
		return nil, nil
	case "table", "cursor":
		if verb == "table" {
			object, id = r.store, s["name"]
		}
		opened, err := object.Open(verb, passed...)
		if err == nil {
			r.objects[plain(id).(string)] = opened
		}
		return nil, err
	case "iter":
		found := []Pair{}
		for pair, err := range object.Pairs() {
			if err != nil {
				return nil, err
			}
			found = append(found, pair)
		}
		slices.SortFunc(found, func(one, other Pair) int { return strings.Compare(one.Key, other.Key) })
		return list(found), nil
	case "alter": // select, decide, compare and swap
		key := plain(s["key"]).(string)
		value, is, err := object.Select(key)
		if err != nil {
			return nil, err
		}
		old := map[bool]any{true: value, false: nil}[is]
		new := old
		if more, is := plain(s["append"]).(string); is {
			new = value + more
		} else if s["remove"] == true {
			new = nil
		}
		_, err = object.Call("compare_and_swap", key, old, new)
		return s["keep"] != true && (is || new != nil), err
	case "tables", "drop_table":
		object = r.store
	case "memory_limit":
		object, verb = r.store, "set_memory_limit"
	}
	if cursor, is := id.(string); is {
		object = r.objects[cursor]
	}
	a, err := object.Call(verb, passed...)
	if err != nil {
		return nil, err
	}
	return outcome(verb, a), nil
}

func outcome(verb string, a Answer) any {
	found := []any{}
	switch verb {
	case "clear", "set_memory_limit":
		return nil
	case "len", "increment":
		return a.Number
	case "select":
		return map[bool]any{true: a.Bytes, false: nil}[a.Status == 1]
	case "scan_asc_next", "scan_desc_next":
		if a.Status == 0 {
			return nil
		}
		return list(a.Pairs())[0]
	case "tables", "scan", "scan_asc_next_many", "scan_desc_next_many":
		return list(a.Pairs())
	case "select_many":
		for rest := a.Bytes; len(rest) > 0; {
			length := little.Uint32([]byte(rest))
			if rest = rest[4:]; length == absent {
				found = append(found, nil)
			} else {
				found, rest = append(found, rest[:length]), rest[length:]
			}
		}
	case "increment_many":
		for rest := []byte(a.Bytes); len(rest) > 0; rest = rest[8:] {
			found = append(found, int64(little.Uint64(rest)))
		}
	case "insert_many", "replace_many", "upsert_many", "delete_many", "contains_many", "compare_and_swap_many":
		for _, one := range []byte(a.Bytes) {
			found = append(found, one == 1)
		}
	default:
		return a.Status == 1
	}
	return found
}

func list(pairs []Pair) []any {
	found := []any{}
	for _, pair := range pairs {
		found = append(found, []any{pair.Key, pair.Value})
	}
	return found
}
