package twindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// `npm run build` in wasm/npm makes the modules, all of which hold to the same contract.
func engine(module string) *Engine {
	wasm, err := os.ReadFile("../../wasm/npm/" + module)
	must(err)
	e, err := New(context.Background(), wasm, 42)
	must(err)
	return e
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func Example() {
	store, err := engine("twindex.fast.wasm").NewStore(NoLimit)
	must(err)
	log, err := store.Table("log", "sorted")
	must(err)
	for _, day := range []string{"2026-11-02", "2026-11-01", "2025-12-31"} {
		_, err := log.Write("insert", []byte(day), []byte("x"))
		must(err)
	}
	for pair, err := range log.Scan(Prefix([]byte("2026-")), Prefix([]byte("2026-")), false) {
		must(err)
		fmt.Printf("%s %s\n", pair.Key, pair.Value)
	}
	// Output:
	// 2026-11-01 x
	// 2026-11-02 x
}

// The dump that TWINDEX_DUMP names, which Python made.
func TestDump(t *testing.T) {
	path := os.Getenv("TWINDEX_DUMP")
	if path == "" {
		return
	}
	dump, err := os.ReadFile(path)
	must(err)
	store, err := engine("twindex.wasm").Load(dump, NoLimit)
	must(err)
	users, err := store.Table("users", "hash")
	must(err)
	if value, err := users.Select([]byte("ada")); err != nil || string(value) != "1815" {
		t.Fatalf("%q, %v", value, err)
	}
}

type step map[string]any

// What every language must do alike. An argument of a wrong type cannot be said in Go: reading it fails here.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../conformance/vectors.json")
	must(err)
	decoder := json.NewDecoder(bytes.NewReader(text))
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
	for _, module := range []string{"twindex.wasm", "twindex.fast.wasm"} {
		e := engine(module)
		for _, one := range file.Cases {
			for _, index := range append(one.Index, "")[:max(1, len(one.Index))] {
				t.Run(one.Name+", "+index, func(t *testing.T) {
					store, err := e.NewStore(NoLimit)
					must(err)
					r := &runner{e, store, map[string]Table{}, map[string]Cursor{}}
					if index != "" {
						r.tables["t"], err = store.Table("t", index)
						must(err)
					}
					for number, step := range one.Steps {
						check(t, number, step, func() (any, error) { return r.run(step) })
					}
				})
			}
		}
	}
}

func check(t *testing.T, number int, s step, run func() (any, error)) {
	outcome, err := attempt(run)
	shown, _ := json.Marshal(s)
	if wanted, is := s["expect"].(map[string]any); is && wanted["error"] != nil {
		var failed *Error
		mentions, _ := wanted["mentions"].(string)
		if !errors.As(err, &failed) || failed.Code != wanted["error"] || !strings.Contains(failed.Text, mentions) {
			t.Fatalf("step %d, %.300s: %v", number, shown, err)
		}
	} else if wanted := plain(s["expect"]); err != nil || !reflect.DeepEqual(outcome, wanted) {
		t.Fatalf("step %d, %.300s: %#v, %v, not %#v", number, shown, outcome, err, wanted)
	}
}

// attempt has what a reader refuses as its error.
func attempt(run func() (any, error)) (outcome any, err error) {
	defer func() {
		if caught, is := recover().(error); is {
			err = caught
		}
	}()
	return run()
}

func refuse(code string) { panic(&Error{code, "Go cannot say that"}) }

// plain is an expectation as the runner gives outcomes: bytes as text, numbers as int64.
func plain(value any) any {
	switch value := value.(type) {
	case []any:
		list := []any{}
		for _, item := range value {
			list = append(list, plain(item))
		}
		return list
	case map[string]any:
		return string(read(value))
	case json.Number:
		return integer(value)
	}
	return value
}

// read gives the bytes that a step says.
func read(value any) []byte {
	switch value := value.(type) {
	case string:
		return []byte(value)
	case map[string]any:
		digits, is := value["hex"].(string)
		if !is {
			digits = strings.Repeat(value["repeat"].(string), int(integer(value["times"])))
		}
		bytes, err := hex.DecodeString(digits)
		must(err)
		return bytes
	}
	refuse("TWINDEX_TYPE")
	return nil
}

func optional(value any) []byte {
	if value == nil {
		return nil
	}
	return read(value)
}

func text(value any) string {
	text, is := value.(string)
	if !is {
		refuse("TWINDEX_TYPE")
	}
	return text
}

func integer(value any) int64 {
	number, _ := value.(json.Number)
	whole, err := number.Int64()
	if err != nil {
		refuse("TWINDEX_TYPE")
	}
	return whole
}

// size is a number of pairs or bytes.
func size(value any) uint64 {
	number := integer(value)
	if number < 0 {
		refuse("TWINDEX_RANGE")
	}
	return uint64(number)
}

func bound(s step, kinds map[string]func([]byte) Bound) (end Bound) {
	for name, make := range kinds {
		if value, is := s[name]; is {
			if end.kind != 0 {
				refuse("TWINDEX_RANGE")
			}
			end = make(read(value))
		}
	}
	return end
}

func ends(s step) (from, to Bound) {
	return bound(s, map[string]func([]byte) Bound{"gt": Excluding, "gte": Including, "prefix": Prefix}),
		bound(s, map[string]func([]byte) Bound{"lt": Excluding, "lte": Including, "prefix": Prefix})
}

type runner struct {
	engine  *Engine
	store   Store
	tables  map[string]Table
	cursors map[string]Cursor
}

func (r *runner) run(s step) (any, error) {
	name, is := s["table"].(string)
	if !is {
		name = "t"
	}
	table, verb := r.tables[name], text(s["do"])
	switch verb {
	case "table":
		table, err := r.store.Table(text(s["name"]), text(s["index"]))
		if err == nil {
			r.tables[text(s["name"])] = table
		}
		return nil, err
	case "tables":
		return pairsOutcome(r.store.Tables())
	case "drop_table":
		return r.store.DropTable(text(s["name"]))
	case "memory_limit":
		if s["bytes"] == nil {
			return nil, r.store.SetMemoryLimit(NoLimit)
		}
		return nil, r.store.SetMemoryLimit(size(s["bytes"]))
	case "load":
		_, err := r.engine.Load(read(s["bytes"]), NoLimit)
		return nil, err
	case "close":
		return nil, r.store.Close()
	case "reload":
		dump, err := r.store.Dump()
		must(err)
		must(r.store.Close())
		r.store, err = r.engine.Load(dump, NoLimit)
		must(err)
		tables, err := r.store.Tables()
		for _, pair := range tables {
			r.tables[string(pair.Key)], err = r.store.Table(string(pair.Key), string(pair.Value))
		}
		return nil, err
	case "cursor":
		from, to := ends(s)
		cursor, err := table.Cursor(from, to)
		r.cursors[text(s["id"])] = cursor
		return nil, err
	case "scan_asc_next", "scan_desc_next":
		found, err := r.cursors[text(s["id"])].Next(strings.Split(verb, "_")[1], 1)
		if len(found) == 0 {
			return nil, err
		}
		return pairOutcome(found[0]), err
	case "scan_asc_next_many", "scan_desc_next_many":
		return pairsOutcome(r.cursors[text(s["id"])].Next(strings.Split(verb, "_")[1], uint32(size(s["limit"]))))
	case "scan":
		from, to := ends(s)
		limit := uint64(NoLimit)
		if given, is := s["limit"]; is {
			limit = size(given)
		}
		found := []Pair{}
		for pair, err := range table.Scan(from, to, s["reverse"] == true) {
			if err != nil || uint64(len(found)) == limit {
				return outcomes(found), err
			}
			found = append(found, pair)
		}
		return outcomes(found), nil
	case "iter":
		found := []Pair{}
		for pair, err := range table.All() {
			must(err)
			found = append(found, pair)
		}
		slices.SortFunc(found, func(one, other Pair) int { return bytes.Compare(one.Key, other.Key) })
		return outcomes(found), nil
	case "len":
		return outcome(table.Len())
	case "clear":
		return nil, table.Clear()
	case "insert", "replace", "upsert":
		return table.Write(verb, read(s["key"]), read(s["value"]))
	case "delete":
		return table.Delete(read(s["key"]))
	case "contains":
		return table.Contains(read(s["key"]))
	case "select":
		return valueOutcome(table.Select(read(s["key"])))
	case "increment":
		return outcome(table.Increment(read(s["key"]), integer(s["by"])))
	case "compare_and_swap":
		return table.CompareAndSwap(read(s["key"]), optional(s["expected"]), optional(s["new"]))
	case "alter":
		return alter(table, s)
	}
	return many(table, strings.TrimSuffix(verb, "_many"), s)
}

// alter is select, decide, compare and swap.
func alter(table Table, s step) (any, error) {
	key := read(s["key"])
	old, err := table.Select(key)
	if err != nil {
		return nil, err
	}
	new := old
	if more, is := s["append"]; is {
		new = append(append([]byte{}, old...), read(more)...)
	} else if s["remove"] == true {
		new = nil
	}
	_, err = table.CompareAndSwap(key, old, new)
	return s["keep"] != true && (old != nil || new != nil), err
}

func many(table Table, verb string, s step) (any, error) {
	var block []byte
	for _, field := range []string{"keys", "pairs", "swaps"} {
		items, _ := s[field].([]any)
		for _, item := range items {
			parts, is := item.([]any)
			if field == "keys" || !is {
				parts = []any{item}
			}
			packed := [][]byte{read(parts[0])}
			for _, part := range parts[1:] {
				if field == "swaps" {
					packed = append(packed, optional(part))
				} else {
					packed = append(packed, read(part))
				}
			}
			block = Pack(block, packed...)
		}
	}
	amounts, _ := s["amounts"].([]any)
	for _, item := range amounts {
		key, by := read(item.([]any)[0]), integer(item.([]any)[1])
		block = binary.LittleEndian.AppendUint32(block, uint32(len(key)))
		block = append(binary.LittleEndian.AppendUint64(block, uint64(by)), key...)
	}
	answer, err := table.Many(verb, block)
	found := []any{}
	for len(answer) > 0 {
		switch verb {
		case "select":
			length := binary.LittleEndian.Uint32(answer)
			answer = answer[4:]
			if length == absent {
				found = append(found, nil)
				continue
			}
			found = append(found, string(answer[:length]))
			answer = answer[length:]
		case "increment":
			found = append(found, int64(binary.LittleEndian.Uint64(answer)))
			answer = answer[8:]
		default:
			found = append(found, answer[0] == 1)
			answer = answer[1:]
		}
	}
	return found, err
}

func outcome(number int64, err error) (any, error) { return number, err }

func valueOutcome(value []byte, err error) (any, error) {
	if value == nil {
		return nil, err
	}
	return string(value), err
}

func pairOutcome(pair Pair) any { return []any{string(pair.Key), string(pair.Value)} }

func outcomes(pairs []Pair) any {
	found := []any{}
	for _, pair := range pairs {
		found = append(found, pairOutcome(pair))
	}
	return found
}

func pairsOutcome(pairs []Pair, err error) (any, error) { return outcomes(pairs), err }
