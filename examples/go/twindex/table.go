package twindex

import (
	"encoding/binary"
	"iter"
)

// Table holds pairs under one index. Verbs that write tell whether they took effect.
type Table struct {
	engine *Engine
	handle argument
}

func (t *Table) verb(name string, arguments ...argument) (bool, error) {
	status, err := t.engine.status(name, append([]argument{t.handle}, arguments...)...)
	return status == 1, err
}

// Insert writes only where the key is absent.
func (t *Table) Insert(key, value []byte) (bool, error) {
	return t.verb("twindex_insert", some(key), some(value))
}

// Replace writes only where the key is present.
func (t *Table) Replace(key, value []byte) (bool, error) {
	return t.verb("twindex_replace", some(key), some(value))
}

// Upsert writes in either case.
func (t *Table) Upsert(key, value []byte) (bool, error) {
	return t.verb("twindex_upsert", some(key), some(value))
}

// Delete removes a pair.
func (t *Table) Delete(key []byte) (bool, error) { return t.verb("twindex_delete", some(key)) }

// Contains tells whether the key is there.
func (t *Table) Contains(key []byte) (bool, error) { return t.verb("twindex_contains", some(key)) }

// CompareAndSwap writes new, or deletes where that is nil, if the value is old, or absent where that is nil.
func (t *Table) CompareAndSwap(key, old, new []byte) (bool, error) {
	return t.verb("twindex_compare_and_swap", some(key), maybe(old), maybe(new))
}

// Clear removes all pairs.
func (t *Table) Clear() error {
	_, err := t.verb("twindex_clear")
	return err
}

// Select gives the value; nil where the key is absent.
func (t *Table) Select(key []byte) ([]byte, error) {
	return t.engine.bytes(1, "twindex_select", t.handle, some(key))
}

// Increment adds to a decimal number, which is 0 where the key is absent, and gives the sum.
func (t *Table) Increment(key []byte, by int64) (int64, error) {
	return t.engine.number("twindex_increment", t.handle, some(key), number(uint64(by)))
}

// Len gives the number of pairs.
func (t *Table) Len() (int64, error) { return t.engine.number("twindex_len", t.handle) }

// WriteMany does the verb "insert", "replace" or "upsert" for many pairs, with one call of the module.
func (t *Table) WriteMany(verb string, pairs []Pair) ([]bool, error) {
	var block []byte
	for _, pair := range pairs {
		block = pack(block, present(pair.Key), present(pair.Value))
	}
	return t.many(verb, block)
}

// ForMany does the verb "delete" or "contains" for many keys.
func (t *Table) ForMany(verb string, keys [][]byte) ([]bool, error) {
	return t.many(verb, packed(keys))
}

// Swap is what CompareAndSwapMany does to one key.
type Swap struct{ Key, Old, New []byte }

// CompareAndSwapMany is CompareAndSwap for many keys.
func (t *Table) CompareAndSwapMany(swaps []Swap) ([]bool, error) {
	var block []byte
	for _, swap := range swaps {
		block = pack(block, present(swap.Key), swap.Old, swap.New)
	}
	return t.many("compare_and_swap", block)
}

func packed(keys [][]byte) (block []byte) {
	for _, key := range keys {
		block = pack(block, present(key))
	}
	return block
}

// many does a verb for a block of arguments, which answers with a byte for each.
func (t *Table) many(verb string, block []byte) (done []bool, err error) {
	outcomes, err := t.engine.bytes(0, "twindex_"+verb+"_many", t.handle, some(block))
	for _, outcome := range outcomes {
		done = append(done, outcome == 1)
	}
	return done, err
}

// SelectMany gives the value of each key, nil where it is absent.
func (t *Table) SelectMany(keys [][]byte) (values [][]byte, err error) {
	block, err := t.engine.bytes(0, "twindex_select_many", t.handle, some(packed(keys)))
	for len(block) > 0 {
		length := binary.LittleEndian.Uint32(block)
		block = block[4:]
		if length == absent {
			values = append(values, nil)
			continue
		}
		values = append(values, block[:length:length])
		block = block[length:]
	}
	return values, err
}

// Amount is what IncrementMany adds to one key.
type Amount struct {
	Key []byte
	By  int64
}

// IncrementMany is Increment for many keys.
func (t *Table) IncrementMany(amounts []Amount) (sums []int64, err error) {
	var block []byte
	for _, amount := range amounts {
		block = binary.LittleEndian.AppendUint32(block, uint32(len(amount.Key)))
		block = binary.LittleEndian.AppendUint64(block, uint64(amount.By))
		block = append(block, amount.Key...)
	}
	answer, err := t.engine.bytes(0, "twindex_increment_many", t.handle, some(block))
	for ; len(answer) > 0; answer = answer[8:] {
		sums = append(sums, int64(binary.LittleEndian.Uint64(answer)))
	}
	return sums, err
}

// All gives every pair of a table, of either index. An error ends it and is in the place of a pair.
func (t *Table) All() iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		handle, err := t.engine.status("twindex_iter", t.handle)
		if err != nil {
			yield(Pair{}, err)
			return
		}
		iterator := number(handle)
		defer closed(t.engine, iterator)
		each(yield, func() ([]Pair, error) {
			return t.engine.pairs("twindex_iter_next_many", iterator, number(absent), number(block))
		})
	}
}

// each yields the pairs of one block after another, up to an empty one.
func each(yield func(Pair, error) bool, next func() ([]Pair, error)) {
	for {
		found, err := next()
		if err != nil {
			yield(Pair{}, err)
		}
		if len(found) == 0 {
			return
		}
		for _, pair := range found {
			if !yield(pair, nil) {
				return
			}
		}
	}
}
