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
	memory    api.Memory
	functions map[string]api.Function
	cell      uint32 // the address where the module says what a call answers
	buffer    uint32 // the address where bytes of arguments go
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
	e := &Engine{ctx: ctx, runtime: runtime, memory: module.Memory(), functions: map[string]api.Function{}}
	for name := range module.ExportedFunctionDefinitions() {
		e.functions[name] = module.ExportedFunction(name)
	}
	version, err := e.raw("twindex_abi_version")
	if err == nil && version != 1 {
		err = fmt.Errorf("version %d of the interface, not 1", version)
	}
	if err == nil {
		var cell int32
		cell, err = e.raw("twindex_answer")
		e.cell = uint32(cell)
	}
	if err == nil {
		_, err = e.raw("twindex_seed", number(secret))
	}
	if err != nil {
		runtime.Close(ctx)
		return nil, err
	}
	return e, nil
}

// Close ends the instance and all its stores.
func (e *Engine) Close() error { return e.runtime.Close(e.ctx) }

// argument is a number, or bytes that are copied into the module's memory.
type argument struct {
	number  uint64
	bytes   []byte
	isBytes bool
}

func number(number uint64) argument { return argument{number: number} }

// maybe stands for an absent value where it is nil.
func maybe(bytes []byte) argument { return argument{bytes: bytes, isBytes: true} }

// some has no bytes where it is nil.
func some(bytes []byte) argument { return maybe(present(bytes)) }

func present(bytes []byte) []byte {
	if bytes == nil {
		return []byte{}
	}
	return bytes
}

// raw calls a function and gives its status, whatever that means.
func (e *Engine) raw(name string, arguments ...argument) (int32, error) {
	total := uint32(1)
	for _, each := range arguments {
		total += uint32(len(each.bytes))
	}
	if total > e.room {
		if err := e.grow(2 * total); err != nil {
			return 0, err
		}
	}
	stack, address := e.stack[:0], e.buffer
	for _, each := range arguments {
		switch {
		case !each.isBytes:
			stack = append(stack, each.number)
		case each.bytes == nil:
			stack = append(stack, uint64(address), absent)
		default:
			e.memory.Write(address, each.bytes)
			stack = append(stack, uint64(address), uint64(len(each.bytes)))
			address += uint32(len(each.bytes))
		}
	}
	err := e.functions[name].CallWithStack(e.ctx, e.stack[:])
	return int32(e.stack[0]), err
}

// grow gives the bytes of arguments another buffer.
func (e *Engine) grow(room uint32) error {
	if e.buffer != 0 {
		e.stack[0] = uint64(e.buffer)
		if err := e.functions["twindex_free"].CallWithStack(e.ctx, e.stack[:]); err != nil {
			return err
		}
		e.buffer, e.room = 0, 0
	}
	e.stack[0] = uint64(room)
	if err := e.functions["twindex_alloc"].CallWithStack(e.ctx, e.stack[:]); err != nil {
		return err
	}
	if e.stack[0] == 0 {
		return e.lastError()
	}
	e.buffer, e.room = uint32(e.stack[0]), room
	return nil
}

// checked is raw with a status that tells of an error as one. The mutex is locked.
func (e *Engine) checked(name string, arguments []argument) (int32, error) {
	status, err := e.raw(name, arguments...)
	if err == nil && status < 0 {
		err = e.lastError()
	}
	return status, err
}

func (e *Engine) lastError() error {
	if err := e.functions["twindex_last_error"].CallWithStack(e.ctx, e.stack[:]); err != nil {
		return err
	}
	pair := pairs(e.answer())[0]
	return &Error{Code: string(pair.Key), Text: string(pair.Value)}
}

// answer copies the bytes that the last call answered with.
func (e *Engine) answer() []byte {
	cell, _ := e.memory.Read(e.cell, 8)
	bytes, _ := e.memory.Read(binary.LittleEndian.Uint32(cell), binary.LittleEndian.Uint32(cell[4:]))
	return append([]byte{}, bytes...)
}

// status does a call whose answer is its status.
func (e *Engine) status(name string, arguments ...argument) (uint64, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	status, err := e.checked(name, arguments)
	return uint64(status), err
}

// number does a call that answers with a number.
func (e *Engine) number(name string, arguments ...argument) (int64, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if _, err := e.checked(name, arguments); err != nil {
		return 0, err
	}
	number, _ := e.memory.ReadUint64Le(e.cell + 8)
	return int64(number), nil
}

// bytes does a call that answers with bytes where its status is this one: nil where it is another.
func (e *Engine) bytes(status int32, name string, arguments ...argument) ([]byte, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if found, err := e.checked(name, arguments); err != nil || found != status {
		return nil, err
	}
	return e.answer(), nil
}

// Pair is a key and a value.
type Pair struct{ Key, Value []byte }

// pairs does a call that answers with a packed block.
func (e *Engine) pairs(name string, arguments ...argument) ([]Pair, error) {
	block, err := e.bytes(0, name, arguments...)
	return pairs(block), err
}

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

// pack appends an item to a block: the lengths, then the bytes.
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
