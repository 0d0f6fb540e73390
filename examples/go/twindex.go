// Package twindex has the whole engine in a Go program, as a WebAssembly module and without cgo: a thin layer over the module's
// interface, which docs/wasm.md of the repository describes. Goroutines may share an Engine. It does one call at a time.
package twindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// NoLimit is the memory limit of a store without one.
const NoLimit = math.MaxUint64

const (
	absent = math.MaxUint32 // the length of a value that is not there
	block  = 1 << 16        // how many bytes of pairs cross the border at once
)

// Error is an error of the engine. Its code is the same in all languages.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Code + ": " + e.Text }

// Engine is an instance of the module, with memory of its own.
type Engine struct {
	mutex     sync.Mutex
	ctx       context.Context
	runtime   wazero.Runtime
	module    api.Module
	functions map[string]api.Function
	cell      uint32 // where the module says what a call answers
	buffer    uint32 // where the bytes of arguments go
	room      uint32 // and how many fit
}

// New instantiates the module. The secret makes it unforeseeable which keys collide: give 64 random bits.
func New(ctx context.Context, wasm []byte, secret uint64) (*Engine, error) {
	runtime := wazero.NewRuntime(ctx)
	module, err := runtime.Instantiate(ctx, wasm)
	if err != nil {
		return nil, err
	}
	e := &Engine{ctx: ctx, runtime: runtime, module: module, functions: map[string]api.Function{}}
	version, err := e.raw("twindex_abi_version")
	if err == nil && version != 1 {
		err = fmt.Errorf("version %d of the interface, not 1", version)
	}
	if err == nil {
		_, err = e.raw("twindex_seed", secret)
	}
	if err == nil {
		e.cell, err = e.raw("twindex_answer")
	}
	return e, err
}

// Close ends the instance and all its stores.
func (e *Engine) Close() error { return e.runtime.Close(e.ctx) }

func (e *Engine) raw(name string, arguments ...uint64) (uint32, error) {
	if e.functions[name] == nil {
		e.functions[name] = e.module.ExportedFunction(name)
	}
	results, err := e.functions[name].Call(e.ctx, arguments...)
	if err != nil {
		return 0, err
	}
	return uint32(results[0]), nil
}

// answer is what a call says beside its status.
type answer struct {
	status uint32
	bytes  []byte
	number int64
}

// call does a call. An argument is a number, or bytes, which are copied into the module's memory; nil bytes are an absent value.
func (e *Engine) call(name string, arguments ...any) (answer, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var bytes []byte
	for _, argument := range arguments {
		if piece, is := argument.([]byte); is {
			bytes = append(bytes, piece...)
		}
	}
	if err := e.put(bytes); err != nil {
		return answer{}, err
	}
	var passed []uint64
	address := e.buffer
	for _, argument := range arguments {
		switch argument := argument.(type) {
		case []byte:
			length := uint32(len(argument))
			if argument == nil {
				length = absent
			}
			passed = append(passed, uint64(address), uint64(length))
			address += uint32(len(argument))
		case uint32:
			passed = append(passed, uint64(argument))
		case uint64:
			passed = append(passed, argument)
		}
	}
	status, err := e.raw(name, passed...)
	if err == nil && int32(status) < 0 {
		err = e.lastError()
	}
	if err != nil {
		return answer{}, err
	}
	return e.answered(status), nil
}

// put copies bytes into a buffer of the module.
func (e *Engine) put(bytes []byte) error {
	if uint32(len(bytes)) >= e.room {
		if e.buffer != 0 {
			if _, err := e.raw("twindex_free", uint64(e.buffer)); err != nil {
				return err
			}
		}
		e.room = 0
		buffer, err := e.raw("twindex_alloc", uint64(2*len(bytes)+64))
		if err == nil && buffer == 0 {
			err = e.lastError()
		}
		if err != nil {
			return err
		}
		e.buffer, e.room = buffer, uint32(2*len(bytes)+64)
	}
	e.module.Memory().Write(e.buffer, bytes)
	return nil
}

func (e *Engine) answered(status uint32) answer {
	cell, _ := e.module.Memory().Read(e.cell, 16)
	bytes, _ := e.module.Memory().Read(binary.LittleEndian.Uint32(cell), binary.LittleEndian.Uint32(cell[4:]))
	return answer{status, append([]byte{}, bytes...), int64(binary.LittleEndian.Uint64(cell[8:]))}
}

func (e *Engine) lastError() error {
	if _, err := e.raw("twindex_last_error"); err != nil {
		return err
	}
	pair := pairs(e.answered(1).bytes)[0]
	return &Error{Code: string(pair.Key), Text: string(pair.Value)}
}

// Pair is a key and a value.
type Pair struct{ Key, Value []byte }

// pairs are those of a packed block.
func pairs(block []byte) (found []Pair) {
	for len(block) > 0 {
		key, end := binary.LittleEndian.Uint32(block), binary.LittleEndian.Uint32(block[4:])
		end += key
		block = block[8:]
		found = append(found, Pair{block[:key:key], block[key:end:end]})
		block = block[end:]
	}
	return found
}

// Pack appends an item to a block: the lengths of its parts, then their bytes. A part that is nil is an absent value.
func Pack(block []byte, item ...[]byte) []byte {
	for _, bytes := range item {
		length := uint32(len(bytes))
		if bytes == nil {
			length = absent
		}
		block = binary.LittleEndian.AppendUint32(block, length)
	}
	for _, bytes := range item {
		block = append(block, bytes...)
	}
	return block
}

// Store is a set of tables. Table is pairs under one index; verbs that write tell whether they took effect. Cursor is a position in
// a range of a sorted table, at first before its first pair and after its last; it stays valid whatever is written.
type (
	Store  struct{ object }
	Table  struct{ object }
	Cursor struct{ object }
	object struct {
		engine *Engine
		handle uint32
	}
)

// Close frees what the object holds.
func (o object) Close() error {
	_, err := o.call("twindex_close")
	return err
}

func (o object) call(name string, arguments ...any) (answer, error) {
	return o.engine.call(name, append([]any{o.handle}, arguments...)...)
}

func (o object) took(name string, arguments ...any) (bool, error) {
	a, err := o.call(name, arguments...)
	return a.status == 1, err
}

func (o object) open(name string, arguments ...any) (object, error) {
	a, err := o.call(name, arguments...)
	return object{o.engine, a.status}, err
}

// NewStore makes an empty store.
func (e *Engine) NewStore(memoryLimit uint64) (Store, error) {
	a, err := e.call("twindex_store_new", memoryLimit)
	return Store{object{e, a.status}}, err
}

// Load makes a store of a dump, which any language may have made.
func (e *Engine) Load(dump []byte, memoryLimit uint64) (Store, error) {
	a, err := e.call("twindex_load", some(dump), memoryLimit)
	return Store{object{e, a.status}}, err
}

// Dump gives the whole store as bytes.
func (s Store) Dump() ([]byte, error) {
	a, err := s.call("twindex_dump")
	return a.bytes, err
}

// SetMemoryLimit bounds the bytes that the store takes.
func (s Store) SetMemoryLimit(bytes uint64) error {
	_, err := s.call("twindex_set_memory_limit", bytes)
	return err
}

// Tables gives the names of all tables, each with its index.
func (s Store) Tables() ([]Pair, error) {
	a, err := s.call("twindex_tables")
	return pairs(a.bytes), err
}

// Table opens or creates a table. The index is "hash" or "sorted".
func (s Store) Table(name, index string) (Table, error) {
	table, err := s.open("twindex_table", []byte(name), []byte(index))
	return Table{table}, err
}

// DropTable tells whether there was such a table.
func (s Store) DropTable(name string) (bool, error) {
	return s.took("twindex_drop_table", []byte(name))
}

// some has no bytes where it is nil.
func some(bytes []byte) []byte { return append([]byte{}, bytes...) }

// Write does the verb "insert" (where the key is absent), "replace" (where it is present) or "upsert" (either).
func (t Table) Write(verb string, key, value []byte) (bool, error) {
	return t.took("twindex_"+verb, some(key), some(value))
}

// Delete removes a pair.
func (t Table) Delete(key []byte) (bool, error) { return t.took("twindex_delete", some(key)) }

// Contains tells whether the key is there.
func (t Table) Contains(key []byte) (bool, error) { return t.took("twindex_contains", some(key)) }

// CompareAndSwap writes new, or deletes where that is nil, if the value is old, or absent where that is nil.
func (t Table) CompareAndSwap(key, old, new []byte) (bool, error) {
	return t.took("twindex_compare_and_swap", some(key), old, new)
}

// Clear removes all pairs.
func (t Table) Clear() error {
	_, err := t.call("twindex_clear")
	return err
}

// Select gives the value; nil where the key is absent.
func (t Table) Select(key []byte) ([]byte, error) {
	a, err := t.call("twindex_select", some(key))
	if a.status != 1 {
		return nil, err
	}
	return a.bytes, err
}

// Increment adds to a decimal number, which is 0 where the key is absent, and gives the sum.
func (t Table) Increment(key []byte, by int64) (int64, error) {
	a, err := t.call("twindex_increment", some(key), uint64(by))
	return a.number, err
}

// Len gives the number of pairs.
func (t Table) Len() (int64, error) {
	a, err := t.call("twindex_len")
	return a.number, err
}

// Many does a verb for a block of items that Pack made: pairs, keys or swaps. It answers with a byte for each, 1 or 0; with
// packed values for "select"; with sums of 8 bytes for "increment", whose items are a key's length, an int64 and the key.
func (t Table) Many(verb string, block []byte) ([]byte, error) {
	a, err := t.call("twindex_"+verb+"_many", some(block))
	return a.bytes, err
}

// Bound is one end of a range. The zero value is no bound.
type Bound struct {
	kind uint32
	key  []byte
}

// Including, Excluding and Prefix are an end with its key in the range, out of it, and, as both ends, all keys that start so.
func Including(key []byte) Bound { return Bound{1, key} }
func Excluding(key []byte) Bound { return Bound{2, key} }
func Prefix(prefix []byte) Bound { return Bound{3, prefix} }

// Scan gives the pairs of a range in the order of their keys, or in reverse. It sees what is written meanwhile. An error ends it
// and is in the place of a pair.
func (t Table) Scan(from, to Bound, reverse bool) iter.Seq2[Pair, error] {
	end, backwards := &from, uint32(0)
	if reverse {
		end, backwards = &to, 1
	}
	return each(func() ([]Pair, error) {
		range_ := []any{from.kind, some(from.key), to.kind, some(to.key)}
		a, err := t.call("twindex_scan", append(range_, backwards, uint32(absent), uint32(block))...)
		found := pairs(a.bytes)
		if len(found) > 0 {
			*end = Excluding(found[len(found)-1].Key)
		}
		return found, err
	})
}

// All gives every pair of a table, of either index.
func (t Table) All() iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		iterator, err := t.open("twindex_iter")
		if err != nil {
			yield(Pair{}, err)
			return
		}
		defer iterator.Close()
		each(func() ([]Pair, error) {
			a, err := iterator.call("twindex_iter_next_many", uint32(absent), uint32(block))
			return pairs(a.bytes), err
		})(yield)
	}
}

// each yields the pairs of one block after another, up to an empty one.
func each(next func() ([]Pair, error)) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		for {
			found, err := next()
			if err != nil {
				yield(Pair{}, err)
			}
			for _, pair := range found {
				if !yield(pair, nil) {
					return
				}
			}
			if len(found) == 0 {
				return
			}
		}
	}
}

// Cursor makes a cursor.
func (t Table) Cursor(from, to Bound) (Cursor, error) {
	cursor, err := t.open("twindex_cursor", from.kind, some(from.key), to.kind, some(to.key))
	return Cursor{cursor}, err
}

// Next gives up to so many pairs, upwards for "asc" and downwards for "desc"; none at the end.
func (c Cursor) Next(way string, count uint32) ([]Pair, error) {
	a, err := c.call("twindex_scan_"+way+"_next_many", count, uint32(absent))
	return pairs(a.bytes), err
}
