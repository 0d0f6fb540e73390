package twindex

import (
	"encoding/binary"
	"iter"
)

// Table holds pairs under one index.
type Table struct {
	engine *Engine
	handle uint64
}

func (t *Table) verb(name string, arguments ...[]byte) (bool, error) {
	status, err := t.engine.call(name, []uint64{t.handle}, arguments, nil, nil)
	return status == 1, err
}

// Insert writes only where the key is absent. It tells whether it took effect, as all verbs do.
func (t *Table) Insert(key, value []byte) (bool, error) {
	return t.verb("twindex_insert", present(key), present(value))
}

// Replace writes only where the key is present.
func (t *Table) Replace(key, value []byte) (bool, error) {
	return t.verb("twindex_replace", present(key), present(value))
}

// Upsert writes in either case.
func (t *Table) Upsert(key, value []byte) (bool, error) {
	return t.verb("twindex_upsert", present(key), present(value))
}

// Delete removes a pair.
func (t *Table) Delete(key []byte) (bool, error) { return t.verb("twindex_delete", present(key)) }

// Contains tells whether the key is there.
func (t *Table) Contains(key []byte) (bool, error) { return t.verb("twindex_contains", present(key)) }

// CompareAndSwap writes new, or deletes where that is nil, if the value is old, or absent where that is nil.
func (t *Table) CompareAndSwap(key, old, new []byte) (bool, error) {
	return t.verb("twindex_compare_and_swap", present(key), old, new)
}

// Select gives the value; nil where the key is absent.
func (t *Table) Select(key []byte) (value []byte, err error) {
	_, err = t.engine.call("twindex_select", []uint64{t.handle}, [][]byte{present(key)}, nil,
		func(a answer) {
			if a.status == 1 {
				value = append([]byte{}, a.bytes...)
			}
		})
	return value, err
}

// Increment adds to a decimal number, which is 0 where the key is absent, and gives the sum.
func (t *Table) Increment(key []byte, by int64) (sum int64, err error) {
	_, err = t.engine.call("twindex_increment", []uint64{t.handle}, [][]byte{present(key)}, []uint64{uint64(by)},
		func(a answer) { sum = a.number })
	return sum, err
}

// Len gives the number of pairs.
func (t *Table) Len() (length int64, err error) {
	_, err = t.engine.call("twindex_len", []uint64{t.handle}, nil, nil, func(a answer) { length = a.number })
	return length, err
}

// Clear removes all pairs.
func (t *Table) Clear() error {
	_, err := t.verb("twindex_clear")
	return err
}

// many does a verb for a block of arguments, and gives a byte for each.
func (t *Table) many(name string, block []byte) (done []bool, err error) {
	_, err = t.engine.call(name, []uint64{t.handle}, [][]byte{present(block)}, nil, func(a answer) {
		for _, outcome := range a.bytes {
			done = append(done, outcome == 1)
		}
	})
	return done, err
}

func packed(pairs []Pair) (block []byte) {
	for _, pair := range pairs {
		block = pack(block, present(pair.Key), present(pair.Value))
	}
	return block
}

func packedKeys(keys [][]byte) (block []byte) {
	for _, key := range keys {
		block = pack(block, present(key))
	}
	return block
}

// InsertMany is Insert for many pairs, with one call of the module.
func (t *Table) InsertMany(pairs []Pair) ([]bool, error) {
	return t.many("twindex_insert_many", packed(pairs))
}

// ReplaceMany is Replace for many pairs.
func (t *Table) ReplaceMany(pairs []Pair) ([]bool, error) {
	return t.many("twindex_replace_many", packed(pairs))
}

// UpsertMany is Upsert for many pairs.
func (t *Table) UpsertMany(pairs []Pair) ([]bool, error) {
	return t.many("twindex_upsert_many", packed(pairs))
}

// DeleteMany is Delete for many keys.
func (t *Table) DeleteMany(keys [][]byte) ([]bool, error) {
	return t.many("twindex_delete_many", packedKeys(keys))
}

// ContainsMany is Contains for many keys.
func (t *Table) ContainsMany(keys [][]byte) ([]bool, error) {
	return t.many("twindex_contains_many", packedKeys(keys))
}

// Swap is what CompareAndSwapMany does to one key.
type Swap struct{ Key, Old, New []byte }

// CompareAndSwapMany is CompareAndSwap for many keys.
func (t *Table) CompareAndSwapMany(swaps []Swap) ([]bool, error) {
	var block []byte
	for _, swap := range swaps {
		block = pack(block, present(swap.Key), swap.Old, swap.New)
	}
	return t.many("twindex_compare_and_swap_many", block)
}

// SelectMany gives the value of each key, nil where it is absent.
func (t *Table) SelectMany(keys [][]byte) (values [][]byte, err error) {
	_, err = t.engine.call("twindex_select_many", []uint64{t.handle}, [][]byte{present(packedKeys(keys))}, nil,
		func(a answer) {
			bytes := append([]byte{}, a.bytes...)
			for len(bytes) > 0 {
				length := binary.LittleEndian.Uint32(bytes)
				bytes = bytes[4:]
				if length == absent {
					values = append(values, nil)
					continue
				}
				values = append(values, bytes[:length:length])
				bytes = bytes[length:]
			}
		})
	return values, err
}

// Amount is what IncrementMany adds to one key.
type Amount struct {
	Key []byte
	By  int64
}

// IncrementMany is Increment for many keys.
func (t *Table) IncrementMany(amounts []Amount) (sums []int64, err error) {
	block := []byte{}
	for _, amount := range amounts {
		block = binary.LittleEndian.AppendUint32(block, uint32(len(amount.Key)))
		block = binary.LittleEndian.AppendUint64(block, uint64(amount.By))
		block = append(block, amount.Key...)
	}
	_, err = t.engine.call("twindex_increment_many", []uint64{t.handle}, [][]byte{block}, nil, func(a answer) {
		for bytes := a.bytes; len(bytes) > 0; bytes = bytes[8:] {
			sums = append(sums, int64(binary.LittleEndian.Uint64(bytes)))
		}
	})
	return sums, err
}

// Bound is one end of a range. The zero value is no bound.
type Bound struct {
	kind uint64
	key  []byte
}

// Including is an end with its key in the range.
func Including(key []byte) Bound { return Bound{1, key} }

// Excluding is an end with its key out of the range.
func Excluding(key []byte) Bound { return Bound{2, key} }

// Prefix is, as both ends, all keys that start so.
func Prefix(prefix []byte) Bound { return Bound{3, prefix} }

// Range is a part of a sorted table.
type Range struct{ From, To Bound }

// StartingWith is the range of all keys that start so.
func StartingWith(prefix []byte) Range { return Range{Prefix(prefix), Prefix(prefix)} }

// ranged calls a function that takes a table, a range and numbers.
func (t *Table) ranged(name string, of Range, after []uint64, read func(answer)) (int32, error) {
	e := t.engine
	e.mutex.Lock()
	defer e.mutex.Unlock()
	ends, err := e.put(nil, present(of.From.key), present(of.To.key))
	if err != nil {
		return 0, err
	}
	arguments := append([]uint64{t.handle, of.From.kind, ends[0], ends[1], of.To.kind, ends[2], ends[3]}, after...)
	status, err := e.raw(name, arguments...)
	if err == nil && status < 0 {
		err = e.lastError()
	}
	if err == nil && read != nil {
		read(e.answered(status))
	}
	return status, err
}

// Scan gives the pairs of a range in the order of their keys, or in reverse. It sees what is written meanwhile. An error ends it
// and is in the place of a pair.
func (t *Table) Scan(of Range, reverse bool) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		backwards := uint64(0)
		if reverse {
			backwards = 1
		}
		for {
			var found []Pair
			_, err := t.ranged("twindex_scan", of, []uint64{backwards, absent, block}, func(a answer) {
				found = pairs(a.bytes)
			})
			if err != nil {
				yield(Pair{}, err)
				return
			}
			for _, pair := range found {
				if !yield(pair, nil) {
					return
				}
			}
			if len(found) == 0 {
				return
			}
			last := Excluding(found[len(found)-1].Key)
			if reverse {
				of.To = last
			} else {
				of.From = last
			}
		}
	}
}

// All gives every pair of a table, of either index.
func (t *Table) All() iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		handle, err := t.engine.call("twindex_iter", []uint64{t.handle}, nil, nil, nil)
		if err != nil {
			yield(Pair{}, err)
			return
		}
		iterator := uint64(handle)
		defer t.engine.call("twindex_close", []uint64{iterator}, nil, nil, nil)
		for {
			var found []Pair
			_, err := t.engine.call("twindex_iter_next_many", []uint64{iterator, absent, block}, nil, nil,
				func(a answer) { found = pairs(a.bytes) })
			if err != nil {
				yield(Pair{}, err)
				return
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

// Cursor is a position in a range of a sorted table, at first before its first pair and after its last.
type Cursor struct {
	engine *Engine
	handle uint64
}

// Cursor makes one. It holds no lock, and stays valid whatever is written.
func (t *Table) Cursor(of Range) (*Cursor, error) {
	handle, err := t.ranged("twindex_cursor", of, nil, nil)
	return &Cursor{t.engine, uint64(handle)}, err
}

// ScanAscNext gives the next pair upwards, nil at the end.
func (c *Cursor) ScanAscNext() (*Pair, error) { return c.next("twindex_scan_asc_next") }

// ScanDescNext gives the next pair downwards, nil at the end.
func (c *Cursor) ScanDescNext() (*Pair, error) { return c.next("twindex_scan_desc_next") }

// ScanAscNextMany gives up to so many pairs upwards.
func (c *Cursor) ScanAscNextMany(count uint32) ([]Pair, error) {
	return c.nextMany("twindex_scan_asc_next_many", count)
}

// ScanDescNextMany gives up to so many pairs downwards.
func (c *Cursor) ScanDescNextMany(count uint32) ([]Pair, error) {
	return c.nextMany("twindex_scan_desc_next_many", count)
}

// Close frees the cursor.
func (c *Cursor) Close() error {
	_, err := c.engine.call("twindex_close", []uint64{c.handle}, nil, nil, nil)
	return err
}

func (c *Cursor) next(name string) (pair *Pair, err error) {
	_, err = c.engine.call(name, []uint64{c.handle}, nil, nil, func(a answer) {
		if a.status == 1 {
			pair = &pairs(a.bytes)[0]
		}
	})
	return pair, err
}

func (c *Cursor) nextMany(name string, count uint32) (found []Pair, err error) {
	_, err = c.engine.call(name, []uint64{c.handle, uint64(count), absent}, nil, nil, func(a answer) {
		found = pairs(a.bytes)
	})
	return found, err
}
