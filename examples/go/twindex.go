// Package twindex has the whole engine in a Go program, as a WebAssembly module and without cgo: a thin layer over the module's
// functions, which docs/wasm.md of the repository describes. Goroutines may share an Engine. It does one call at a time.
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

const (
	NoLimit = -1             // the memory limit of a store without one
	All     = math.MaxUint32 // as many pairs, or bytes of them, as there are
	absent  = math.MaxUint32 // the length of a value that is not there
)

var little = binary.LittleEndian

// Error is an error of the engine. Its code is the same in all languages.
type Error struct{ Code, Text string }

func (e *Error) Error() string { return e.Code + ": " + e.Text }

// Engine is an instance of the module, with memory of its own.
type Engine struct {
	mutex              sync.Mutex
	ctx                context.Context
	runtime            wazero.Runtime
	module             api.Module
	functions          map[string]api.Function
	trap               error  // after which the instance is of no use
	cell, buffer, room uint32 // where answers are; where the bytes of arguments go, and how many fit
}

// New instantiates the module. The secret makes it unforeseeable which keys collide: give 64 random bits.
func New(ctx context.Context, wasm []byte, secret uint64) (*Engine, error) {
	runtime := wazero.NewRuntime(ctx)
	module, err := runtime.Instantiate(ctx, wasm)
	if err != nil {
		return nil, err
	}
	e := &Engine{ctx: ctx, runtime: runtime, module: module, functions: map[string]api.Function{}}
	if version := e.raw("abi_version"); e.trap == nil && version != 1 {
		return nil, fmt.Errorf("version %d of the interface, not 1", version)
	}
	e.raw("seed", secret)
	e.cell = e.raw("answer")
	return e, e.trap
}

// Close ends the instance and all its stores.
func (e *Engine) Close() error { return e.runtime.Close(e.ctx) }

func (e *Engine) raw(name string, arguments ...uint64) uint32 {
	if e.functions[name] == nil {
		e.functions[name] = e.module.ExportedFunction("twindex_" + name)
	}
	results, err := e.functions[name].Call(e.ctx, arguments...)
	if err != nil {
		e.trap = err
		return 0
	}
	return uint32(results[0])
}

// Answer is what a call says: its status, 1 for yes, its bytes, and its number.
type Answer struct {
	Status int64
	Bytes  string
	Number int64
}

// Call calls a function of the module by its name behind "twindex_". An argument is an int64, a bound, or bytes as a
// string, which are copied into the module's memory; nil is an absent value.
func (e *Engine) Call(name string, arguments ...any) (Answer, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	var passed []uint64
	var bytes string
	var places []int // of passed, where an address is
	pass := func(piece string, length int) {
		places = append(places, len(passed))
		passed = append(passed, uint64(len(bytes)), uint64(length))
		bytes += piece
	}
	for _, argument := range arguments {
		switch argument := argument.(type) {
		case nil:
			pass("", absent)
		case int64:
			passed = append(passed, uint64(argument))
		case string:
			pass(argument, len(argument))
		case Bound:
			passed = append(passed, argument.kind)
			pass(argument.key, len(argument.key))
		default:
			return Answer{}, fmt.Errorf("%s: an argument of type %T", name, argument)
		}
	}
	if e.buffer == 0 || e.room < uint32(len(bytes)) {
		e.raw("free", uint64(e.buffer))
		e.room = uint32(2*len(bytes) + 64)
		if e.buffer = e.raw("alloc", uint64(e.room)); e.buffer == 0 {
			return Answer{}, e.lastError()
		}
	}
	e.module.Memory().WriteString(e.buffer, bytes)
	for _, place := range places {
		passed[place] += uint64(e.buffer)
	}
	status := e.raw(name, passed...)
	if int32(status) < 0 || e.trap != nil {
		return Answer{}, e.lastError()
	}
	return e.answered(status), nil
}

func (e *Engine) answered(status uint32) Answer {
	cell, _ := e.module.Memory().Read(e.cell, 16)
	bytes, _ := e.module.Memory().Read(little.Uint32(cell), little.Uint32(cell[4:]))
	return Answer{int64(status), string(bytes), int64(little.Uint64(cell[8:]))}
}

func (e *Engine) lastError() error {
	if e.raw("last_error"); e.trap != nil {
		return e.trap
	}
	error := e.answered(1).Pairs()[0]
	return &Error{Code: error.Key, Text: error.Value}
}

// Pair is a key and a value.
type Pair struct{ Key, Value string }

// Pairs are those of an answer with packed pairs.
func (a Answer) Pairs() []Pair {
	found := []Pair{}
	for rest := a.Bytes; len(rest) > 0; {
		key := 8 + little.Uint32([]byte(rest[:4]))
		end := key + little.Uint32([]byte(rest[4:8]))
		found = append(found, Pair{rest[8:key], rest[key:end]})
		rest = rest[end:]
	}
	return found
}

// Pack makes an item of the block of a function on many keys: the lengths of its parts, then their bytes. A part is a string, or
// nil for an absent value.
func Pack(parts ...any) string {
	var lengths []byte
	var bytes string
	for _, part := range parts {
		text, is := part.(string)
		length := map[bool]uint32{true: uint32(len(text)), false: absent}[is]
		lengths, bytes = little.AppendUint32(lengths, length), bytes+text
	}
	return string(lengths) + bytes
}

// Bound is one end of a range. The zero value is no bound.
type Bound struct {
	kind uint64
	key  string
}

// Including, Excluding and Prefix are an end with its key in the range, out of it, and, as both ends, all keys that start so.
func Including(key string) Bound { return Bound{1, key} }
func Excluding(key string) Bound { return Bound{2, key} }
func Prefix(prefix string) Bound { return Bound{3, prefix} }

// Object is a store, a table, a cursor or an iterator. Its methods are the functions that most programs need; Call has all.
type Object struct {
	engine *Engine
	handle int64
}

// NewStore makes an empty store.
func (e *Engine) NewStore(memoryLimit int64) (Object, error) {
	a, err := e.Call("store_new", memoryLimit)
	return Object{e, a.Status}, err
}

// Load makes a store of a dump, which any language may have made.
func (e *Engine) Load(dump string, memoryLimit int64) (Object, error) {
	a, err := e.Call("load", dump, memoryLimit)
	return Object{e, a.Status}, err
}

// Call calls a function whose first argument is the object.
func (o Object) Call(name string, arguments ...any) (Answer, error) {
	return o.engine.Call(name, append([]any{o.handle}, arguments...)...)
}

// Open calls a function that opens another object.
func (o Object) Open(name string, arguments ...any) (Object, error) {
	a, err := o.Call(name, arguments...)
	return Object{o.engine, a.Status}, err
}

// Close frees what the object holds.
func (o Object) Close() error {
	_, err := o.Call("close")
	return err
}

// Table opens or creates a table of a store. The index is "hash" or "sorted".
func (o Object) Table(name, index string) (Object, error) { return o.Open("table", name, index) }

// Select gives the value of a key, and whether there is one.
func (o Object) Select(key string) (value string, is bool, err error) {
	a, err := o.Call("select", key)
	if a.Status == 1 {
		value = a.Bytes
	}
	return value, a.Status == 1, err
}

// Scan gives the pairs of a range of a sorted table in the order of their keys, or in reverse. It sees what is written meanwhile.
func (o Object) Scan(from, to Bound, reverse bool) iter.Seq2[Pair, error] {
	way := map[bool]string{false: "asc", true: "desc"}[reverse]
	return o.each("cursor", "scan_"+way+"_next_many", from, to)
}

// Pairs gives every pair of a table, of either index.
func (o Object) Pairs() iter.Seq2[Pair, error] { return o.each("iter", "iter_next_many") }

// each yields the pairs of what it opens, block after block. An error ends it and is in the place of a pair.
func (o Object) each(open, next string, arguments ...any) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		from, err := o.Open(open, arguments...)
		defer from.Close()
		for err == nil {
			var a Answer
			if a, err = from.Call(next, int64(All), int64(1<<16)); err == nil && len(a.Bytes) == 0 {
				return
			}
			for _, pair := range a.Pairs() {
				if !yield(pair, nil) {
					return
				}
			}
		}
		yield(Pair{}, err)
	}
}
