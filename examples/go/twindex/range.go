package twindex

import "iter"

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

// in is what a function takes that works on a range of a table.
func (t *Table) in(of Range, after ...argument) []argument {
	ends := []argument{t.handle, number(of.From.kind), some(of.From.key), number(of.To.kind), some(of.To.key)}
	return append(ends, after...)
}

// Scan gives the pairs of a range in the order of their keys, or in reverse. It sees what is written meanwhile. An error ends it
// and is in the place of a pair.
func (t *Table) Scan(of Range, reverse bool) iter.Seq2[Pair, error] {
	return func(yield func(Pair, error) bool) {
		rest, backwards := of, uint64(0)
		end := &rest.From
		if reverse {
			end, backwards = &rest.To, 1
		}
		each(yield, func() ([]Pair, error) {
			arguments := t.in(rest, number(backwards), number(absent), number(block))
			found, err := t.engine.pairs("twindex_scan", arguments...)
			if len(found) > 0 {
				*end = Excluding(found[len(found)-1].Key)
			}
			return found, err
		})
	}
}

// Cursor is a position in a range of a sorted table, at first before its first pair and after its last.
type Cursor struct {
	engine *Engine
	handle argument
}

// Cursor makes one. It holds no lock, and stays valid whatever is written.
func (t *Table) Cursor(of Range) (*Cursor, error) {
	handle, err := t.engine.status("twindex_cursor", t.in(of)...)
	return &Cursor{t.engine, number(handle)}, err
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
func (c *Cursor) Close() error { return closed(c.engine, c.handle) }

func (c *Cursor) next(name string) (*Pair, error) {
	found, err := c.engine.bytes(1, name, c.handle)
	if found == nil {
		return nil, err
	}
	return &pairs(found)[0], err
}

func (c *Cursor) nextMany(name string, count uint32) ([]Pair, error) {
	return c.engine.pairs(name, c.handle, number(uint64(count)), number(absent))
}
