// Package twindex has the whole engine in a Go program, as a WebAssembly module and without cgo. It is a thin layer over the
// module's interface, which docs/wasm.md of the repository describes.
//
// An Engine may be used by many goroutines. It does one call at a time.
package twindex

import (
	"context"
	"encoding/binary"
	"fmt"
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
	buffer    uint32 // where arguments go
	room      uint32 // the size of that
	stack     [16]uint64
}

// New instantiates the module. The secret makes it unforeseeable which keys collide: give 64 random bits.
func New(ctx context.Context, wasm []byte, secret uint64) (*Engine, error) {
	runtime := wazero.NewRuntime(ctx)
	module, err := runtime.Instantiate(ctx, wasm)
	if err != nil {
		return nil, err
	}
	e := &Engine{ctx: ctx, runtime: runtime, module: module, functions: map[string]api.Function{}}
	for name := range module.ExportedFunctionDefinitions() {
		e.functions[name] = module.ExportedFunction(name)
	}
	if err := e.start(secret); err != nil {
		runtime.Close(ctx)
		return nil, err
	}
	return e, nil
}

func (e *Engine) start(secret uint64) error {
	if version, err := e.raw("twindex_abi_version"); err != nil || version != 1 {
		return fmt.Errorf("not version 1 of the interface: %d, %w", version, err)
	}
	cell, err := e.raw("twindex_answer")
	e.cell = uint32(cell)
	if err == nil {
		_, err = e.raw("twindex_seed", secret)
	}
	return err
}

// Close ends the instance and all its stores.
func (e *Engine) Close() error { return e.runtime.Close(e.ctx) }

// raw calls a function and gives what it returns.
func (e *Engine) raw(name string, arguments ...uint64) (int32, error) {
	copy(e.stack[:], arguments)
	if err := e.functions[name].CallWithStack(e.ctx, e.stack[:]); err != nil {
		return 0, err
	}
	return int32(e.stack[0]), nil
}

// put copies bytes into the module's memory, one after another, and appends the address and the length of each to the
// arguments.
func (e *Engine) put(arguments []uint64, all ...[]byte) ([]uint64, error) {
	total := uint32(1)
	for _, bytes := range all {
		total += uint32(len(bytes))
	}
	if total > e.room {
		if e.buffer != 0 {
			if _, err := e.raw("twindex_free", uint64(e.buffer)); err != nil {
				return nil, err
			}
			e.buffer, e.room = 0, 0
		}
		address, err := e.raw("twindex_alloc", uint64(total)*2)
		if err != nil {
			return nil, err
		}
		if address == 0 {
			return nil, e.lastError()
		}
		e.buffer, e.room = uint32(address), total*2
	}
	address := e.buffer
	for _, bytes := range all {
		if bytes == nil {
			arguments = append(arguments, uint64(address), absent)
			continue
		}
		e.module.Memory().Write(address, bytes)
		arguments = append(arguments, uint64(address), uint64(len(bytes)))
		address += uint32(len(bytes))
	}
	return arguments, nil
}

// call calls a function with numbers and then bytes, and lets read see what it answers.
func (e *Engine) call(name string, numbers []uint64, bytes [][]byte, after []uint64, read func(answer)) (int32, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	arguments, err := e.put(append(make([]uint64, 0, 16), numbers...), bytes...)
	if err != nil {
		return 0, err
	}
	status, err := e.raw(name, append(arguments, after...)...)
	if err != nil {
		return 0, err
	}
	if status < 0 {
		return 0, e.lastError()
	}
	if read != nil {
		read(e.answered(status))
	}
	return status, nil
}

// answer is what a call says beside its status. The bytes are the module's, until the next call.
type answer struct {
	status int32
	bytes  []byte
	number int64
}

func (e *Engine) answered(status int32) answer {
	cell, _ := e.module.Memory().Read(e.cell, 16)
	address, length := binary.LittleEndian.Uint32(cell), binary.LittleEndian.Uint32(cell[4:])
	bytes, _ := e.module.Memory().Read(address, length)
	return answer{status, bytes, int64(binary.LittleEndian.Uint64(cell[8:]))}
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

// pairs copies packed pairs out of the module's memory.
func pairs(block []byte) (found []Pair) {
	block = append([]byte(nil), block...)
	for len(block) > 0 {
		key, value := binary.LittleEndian.Uint32(block), binary.LittleEndian.Uint32(block[4:])
		block = block[8:]
		found = append(found, Pair{block[:key:key], block[key : key+value : key+value]})
		block = block[key+value:]
	}
	return found
}

// pack appends an item of a block: the lengths, then the bytes.
func pack(block []byte, item ...[]byte) []byte {
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

// Store is a set of tables.
type Store struct {
	engine *Engine
	handle uint64
}

// NewStore makes an empty store.
func (e *Engine) NewStore(memoryLimit uint64) (*Store, error) {
	handle, err := e.call("twindex_store_new", []uint64{memoryLimit}, nil, nil, nil)
	return &Store{e, uint64(handle)}, err
}

// Load makes a store of a dump, which any language may have made.
func (e *Engine) Load(dump []byte, memoryLimit uint64) (*Store, error) {
	handle, err := e.call("twindex_load", nil, [][]byte{present(dump)}, []uint64{memoryLimit}, nil)
	return &Store{e, uint64(handle)}, err
}

// Dump gives the whole store as bytes.
func (s *Store) Dump() (dump []byte, err error) {
	_, err = s.engine.call("twindex_dump", []uint64{s.handle}, nil, nil, func(a answer) {
		dump = append([]byte{}, a.bytes...)
	})
	return dump, err
}

// Memory gives the bytes that the store takes.
func (s *Store) Memory() (bytes int64, err error) {
	_, err = s.engine.call("twindex_memory", []uint64{s.handle}, nil, nil, func(a answer) { bytes = a.number })
	return bytes, err
}

// SetMemoryLimit bounds the bytes that the store takes.
func (s *Store) SetMemoryLimit(bytes uint64) error {
	_, err := s.engine.call("twindex_set_memory_limit", []uint64{s.handle, bytes}, nil, nil, nil)
	return err
}

// Tables gives the names of all tables, each with its index.
func (s *Store) Tables() (tables []Pair, err error) {
	_, err = s.engine.call("twindex_tables", []uint64{s.handle}, nil, nil, func(a answer) {
		tables = pairs(a.bytes)
	})
	return tables, err
}

// DropTable tells whether there was such a table.
func (s *Store) DropTable(name string) (bool, error) {
	status, err := s.engine.call("twindex_drop_table", []uint64{s.handle}, [][]byte{[]byte(name)}, nil, nil)
	return status == 1, err
}

// Close frees the store's memory.
func (s *Store) Close() error {
	_, err := s.engine.call("twindex_close", []uint64{s.handle}, nil, nil, nil)
	return err
}

// Table opens or creates a table. The index is "hash" or "sorted".
func (s *Store) Table(name, index string) (*Table, error) {
	text := [][]byte{[]byte(name), []byte(index)}
	handle, err := s.engine.call("twindex_table", []uint64{s.handle}, text, nil, nil)
	return &Table{s.engine, uint64(handle)}, err
}

// present turns no bytes into none of them, which is not the same as an absent value.
func present(bytes []byte) []byte {
	if bytes == nil {
		return []byte{}
	}
	return bytes
}
