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

// The modules, both of which hold to the same contract. `npm run build` in wasm/npm makes them.
var modules = []string{"../../../wasm/npm/twindex.wasm", "../../../wasm/npm/twindex.fast.wasm"}

func engine(t *testing.T, path string) *Engine {
	t.Helper()
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(context.Background(), wasm, 42)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

type step map[string]any

type vectors struct {
	Cases []struct {
		Name  string
		Index []string
		Steps []step
	}
}

// What every language must do alike. An argument of a wrong type cannot be said in Go: reading it fails here.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../../conformance/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var file vectors
	if err := decoder.Decode(&file); err != nil || len(file.Cases) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, module := range modules {
		e := engine(t, module)
		for _, one := range file.Cases {
			indexes := one.Index
			if len(indexes) == 0 {
				indexes = []string{""}
			}
			for _, index := range indexes {
				t.Run(one.Name+", "+index, func(t *testing.T) {
					run := newRunner(t, e, index)
					for number, step := range one.Steps {
						run.check(number, step)
					}
				})
			}
		}
	}
}

type runner struct {
	t       *testing.T
	engine  *Engine
	store   *Store
	tables  map[string]*Table
	cursors map[string]*Cursor
}

func newRunner(t *testing.T, e *Engine, index string) *runner {
	store, err := e.NewStore(NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{t, e, store, map[string]*Table{}, map[string]*Cursor{}}
	t.Cleanup(func() { r.store.Close() })
	if index != "" {
		if r.tables["t"], err = store.Table("t", index); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *runner) check(number int, s step) {
	r.t.Helper()
	outcome, err := r.run(s)
	shown, _ := json.Marshal(s)
	if wanted, is := s["expect"].(map[string]any); is && wanted["error"] != nil {
		var failed *Error
		mentions, _ := wanted["mentions"].(string)
		if !errors.As(err, &failed) || failed.Code != wanted["error"] || !strings.Contains(failed.Text, mentions) {
			r.t.Fatalf("step %d, %.300s: %v", number, shown, err)
		}
		return
	}
	if err != nil {
		r.t.Fatalf("step %d, %.300s: %v", number, shown, err)
	}
	if wanted := plain(s["expect"]); !reflect.DeepEqual(outcome, wanted) {
		r.t.Fatalf("step %d, %.300s: %#v, not %#v", number, shown, outcome, wanted)
	}
}

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
		bytes, _ := read(value)
		return string(bytes)
	case json.Number:
		number, _ := value.Int64()
		return number
	}
	return value
}

var wrongType = &Error{"TWINDEX_TYPE", "Go cannot say that"}

// read gives the bytes that a step says.
func read(value any) ([]byte, error) {
	switch value := value.(type) {
	case string:
		return []byte(value), nil
	case map[string]any:
		if digits, is := value["hex"].(string); is {
			return hex.DecodeString(digits)
		}
		times, err := value["times"].(json.Number).Int64()
		once, _ := hex.DecodeString(value["repeat"].(string))
		return bytes.Repeat(once, int(times)), err
	}
	return nil, wrongType
}

func optional(value any) ([]byte, error) {
	if value == nil {
		return nil, nil
	}
	return read(value)
}

func integer(value any) (int64, error) {
	number, is := value.(json.Number)
	if !is {
		return 0, wrongType
	}
	whole, err := number.Int64()
	if err != nil {
		return 0, wrongType
	}
	return whole, nil
}

// size is a number of pairs or bytes.
func size(value any) (uint64, error) {
	number, err := integer(value)
	if err == nil && number < 0 {
		err = &Error{"TWINDEX_RANGE", "Go cannot say that"}
	}
	return uint64(number), err
}

// lists reads lists of bytes, of which some may be absent.
func lists(value any, absent ...int) (all [][][]byte, err error) {
	for _, item := range value.([]any) {
		var list [][]byte
		for position, part := range item.([]any) {
			bytes, failed := read(part)
			if slices.Contains(absent, position) {
				bytes, failed = optional(part)
			}
			if failed != nil {
				return nil, failed
			}
			list = append(list, bytes)
		}
		all = append(all, list)
	}
	return all, nil
}

func keysOf(s step) (keys [][]byte, err error) {
	for _, key := range s["keys"].([]any) {
		bytes, err := read(key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, bytes)
	}
	return keys, nil
}

func rangeOf(s step) (of Range, err error) {
	ends := []struct {
		name string
		end  func([]byte) Bound
		of   *Bound
	}{
		{"gt", Excluding, &of.From}, {"gte", Including, &of.From}, {"prefix", Prefix, &of.From},
		{"lt", Excluding, &of.To}, {"lte", Including, &of.To}, {"prefix", Prefix, &of.To},
	}
	for _, each := range ends {
		value, is := s[each.name]
		if !is {
			continue
		}
		if each.of.kind != 0 {
			return of, &Error{"TWINDEX_RANGE", "two bounds"}
		}
		key, err := read(value)
		if err != nil {
			return of, err
		}
		*each.of = each.end(key)
	}
	return of, nil
}

func (r *runner) run(s step) (any, error) {
	name, _ := s["table"].(string)
	if name == "" {
		name = "t"
	}
	table, cursor := r.tables[name], r.cursors[text(s["id"])]
	switch s["do"] {
	case "table", "tables", "drop_table", "memory_limit", "reload", "load", "close":
		return r.onStore(s)
	case "scan_asc_next":
		return pairOutcome(cursor.ScanAscNext())
	case "scan_desc_next":
		return pairOutcome(cursor.ScanDescNext())
	case "scan_asc_next_many", "scan_desc_next_many":
		limit, err := size(s["limit"])
		if err != nil {
			return nil, err
		}
		if s["do"] == "scan_asc_next_many" {
			return pairsOutcome(cursor.ScanAscNextMany(uint32(limit)))
		}
		return pairsOutcome(cursor.ScanDescNextMany(uint32(limit)))
	case "cursor":
		of, err := rangeOf(s)
		if err == nil {
			r.cursors[text(s["id"])], err = table.Cursor(of)
		}
		return nil, err
	case "scan":
		return r.scan(table, s)
	case "iter":
		return r.all(table)
	case "len":
		length, err := table.Len()
		return length, err
	case "clear":
		return nil, table.Clear()
	}
	if strings.HasSuffix(text(s["do"]), "_many") {
		return r.many(table, s)
	}
	return r.verb(table, s)
}

func text(value any) string {
	text, _ := value.(string)
	return text
}

func (r *runner) verb(table *Table, s step) (any, error) {
	key, err := read(s["key"])
	if err != nil {
		return nil, err
	}
	switch s["do"] {
	case "delete":
		return table.Delete(key)
	case "contains":
		return table.Contains(key)
	case "select":
		return valueOutcome(table.Select(key))
	case "increment":
		by, err := integer(s["by"])
		if err != nil {
			return nil, err
		}
		return table.Increment(key, by)
	case "alter":
		return alter(table, key, s)
	case "compare_and_swap":
		old, err := optional(s["expected"])
		if err != nil {
			return nil, err
		}
		new, err := optional(s["new"])
		if err != nil {
			return nil, err
		}
		return table.CompareAndSwap(key, old, new)
	}
	value, err := read(s["value"])
	if err != nil {
		return nil, err
	}
	verbs := map[any]func(key, value []byte) (bool, error){
		"insert": table.Insert, "replace": table.Replace, "upsert": table.Upsert,
	}
	return verbs[s["do"]](key, value)
}

// alter is select, decide, compare and swap.
func alter(table *Table, key []byte, s step) (any, error) {
	old, err := table.Select(key)
	if err != nil {
		return nil, err
	}
	new := old
	if more, is := s["append"]; is {
		suffix, err := read(more)
		if err != nil {
			return nil, err
		}
		new = append(append([]byte{}, old...), suffix...)
	} else if s["remove"] == true {
		new = nil
	}
	kept := s["keep"] == true || (old == nil && new == nil)
	_, err = table.CompareAndSwap(key, old, new)
	return !kept, err
}

func (r *runner) many(table *Table, s step) (any, error) {
	switch s["do"] {
	case "insert_many", "replace_many", "upsert_many":
		lists, err := lists(s["pairs"])
		if err != nil {
			return nil, err
		}
		var pairs []Pair
		for _, list := range lists {
			pairs = append(pairs, Pair{list[0], list[1]})
		}
		return outcomes(table.WriteMany(strings.TrimSuffix(text(s["do"]), "_many"), pairs))
	case "increment_many":
		var amounts []Amount
		for _, item := range s["amounts"].([]any) {
			amount := item.([]any)
			key, err := read(amount[0])
			if err != nil {
				return nil, err
			}
			by, err := integer(amount[1])
			if err != nil {
				return nil, err
			}
			amounts = append(amounts, Amount{key, by})
		}
		return outcomes(table.IncrementMany(amounts))
	case "compare_and_swap_many":
		lists, err := lists(s["swaps"], 1, 2)
		if err != nil {
			return nil, err
		}
		var swaps []Swap
		for _, list := range lists {
			swaps = append(swaps, Swap{list[0], list[1], list[2]})
		}
		return outcomes(table.CompareAndSwapMany(swaps))
	}
	keys, err := keysOf(s)
	if err != nil {
		return nil, err
	}
	if s["do"] != "select_many" {
		return outcomes(table.ForMany(strings.TrimSuffix(text(s["do"]), "_many"), keys))
	}
	values, err := table.SelectMany(keys)
	found := []any{}
	for _, value := range values {
		one, _ := valueOutcome(value, nil)
		found = append(found, one)
	}
	return found, err
}

func (r *runner) onStore(s step) (any, error) {
	switch s["do"] {
	case "table":
		name, isText := s["name"].(string)
		index, isIndex := s["index"].(string)
		if !isText || !isIndex {
			return nil, wrongType
		}
		table, err := r.store.Table(name, index)
		if err == nil {
			r.tables[name] = table
		}
		return nil, err
	case "tables":
		return pairsOutcome(r.store.Tables())
	case "drop_table":
		name, is := s["name"].(string)
		if !is {
			return nil, wrongType
		}
		return r.store.DropTable(name)
	case "memory_limit":
		limit := uint64(NoLimit)
		if s["bytes"] != nil {
			var err error
			if limit, err = size(s["bytes"]); err != nil {
				return nil, err
			}
		}
		return nil, r.store.SetMemoryLimit(limit)
	case "load":
		dump, err := read(s["bytes"])
		if err != nil {
			return nil, err
		}
		store, err := r.engine.Load(dump, NoLimit)
		if err == nil {
			err = store.Close()
		}
		return nil, err
	case "close":
		return nil, r.store.Close()
	}
	return nil, r.reload()
}

func (r *runner) reload() error {
	dump, err := r.store.Dump()
	if err != nil {
		return err
	}
	if err := r.store.Close(); err != nil {
		return err
	}
	if r.store, err = r.engine.Load(dump, NoLimit); err != nil {
		return err
	}
	tables, err := r.store.Tables()
	for _, table := range tables {
		name := string(table.Key)
		if r.tables[name], err = r.store.Table(name, string(table.Value)); err != nil {
			return err
		}
	}
	return err
}

func (r *runner) scan(table *Table, s step) (any, error) {
	of, err := rangeOf(s)
	if err != nil {
		return nil, err
	}
	limit := uint64(NoLimit)
	if given, is := s["limit"]; is {
		if limit, err = size(given); err != nil {
			return nil, err
		}
	}
	found := []any{}
	// Where nothing is asked for, an error of the table's index is one all the same.
	for pair, err := range table.Scan(of, s["reverse"] == true) {
		if err != nil {
			return nil, err
		}
		if uint64(len(found)) == limit {
			break
		}
		found = append(found, []any{string(pair.Key), string(pair.Value)})
	}
	return found, nil
}

func (r *runner) all(table *Table) (any, error) {
	var found []Pair
	for pair, err := range table.All() {
		if err != nil {
			return nil, err
		}
		found = append(found, pair)
	}
	slices.SortFunc(found, func(one, other Pair) int { return bytes.Compare(one.Key, other.Key) })
	return pairsOutcome(found, nil)
}

func valueOutcome(value []byte, err error) (any, error) {
	if value == nil {
		return nil, err
	}
	return string(value), err
}

func pairOutcome(pair *Pair, err error) (any, error) {
	if pair == nil {
		return nil, err
	}
	return []any{string(pair.Key), string(pair.Value)}, err
}

func pairsOutcome(pairs []Pair, err error) (any, error) {
	found := []any{}
	for _, pair := range pairs {
		one, _ := pairOutcome(&pair, nil)
		found = append(found, one)
	}
	return found, err
}

func outcomes[T any](all []T, err error) (any, error) {
	found := []any{}
	for _, one := range all {
		found = append(found, one)
	}
	return found, err
}
