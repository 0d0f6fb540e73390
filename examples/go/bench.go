package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/google/btree"
	"github.com/twindex/twindex/examples/go/twindex"
)

// batch is how many keys cross into the module at once.
const batch = 1000

// bench measures pairs of 16 + 16 bytes in random order: nanoseconds a pair, and bytes a pair.
func bench(engine *twindex.Engine, count int) {
	random := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, count)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, random.Uint64()), uint64(i))
	}
	shuffled := make([][]byte, count)
	copy(shuffled, keys)
	random.Shuffle(count, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	fmt.Printf("%d pairs of 16 + 16 bytes, in random order: ns a pair, and bytes a pair\n", count)
	fmt.Printf("%-16s %8s %8s %8s %8s %8s %8s\n", "", "insert", "batched", "select", "batched", "scan", "bytes")
	for _, index := range []string{"hash", "sorted"} {
		twindexRow(engine, index, keys, shuffled)
	}
	mapRow(keys, shuffled)
	treeRow(keys, shuffled)
}

func row(name string, count int, bytes uint64, times ...time.Duration) {
	fmt.Printf("%-16s", name)
	for _, each := range times {
		if each == 0 {
			fmt.Printf(" %8s", "-")
		} else {
			fmt.Printf(" %8d", each.Nanoseconds()/int64(count))
		}
	}
	fmt.Printf(" %8d\n", bytes/uint64(count))
}

func timed(work func()) time.Duration {
	started := time.Now()
	work()
	return time.Since(started)
}

func twindexRow(engine *twindex.Engine, index string, keys, shuffled [][]byte) {
	open := func() (*twindex.Store, *twindex.Table) {
		store, err := engine.NewStore(twindex.NoLimit)
		check(err)
		table, err := store.Table("t", index)
		check(err)
		return store, table
	}
	one, single := open()
	insert := timed(func() {
		for _, key := range keys {
			_, err := single.Insert(key, key)
			check(err)
		}
	})
	check(one.Close())
	store, table := open()
	inserts := timed(func() {
		pairs := make([]twindex.Pair, 0, batch)
		for from := 0; from < len(keys); from += batch {
			pairs = pairs[:0]
			for _, key := range keys[from:min(from+batch, len(keys))] {
				pairs = append(pairs, twindex.Pair{Key: key, Value: key})
			}
			_, err := table.WriteMany("insert", pairs)
			check(err)
		}
	})
	found := timed(func() {
		for _, key := range shuffled {
			value, err := table.Select(key)
			check(err)
			seen(value != nil)
		}
	})
	selects := timed(func() {
		for from := 0; from < len(shuffled); from += batch {
			values, err := table.SelectMany(shuffled[from:min(from+batch, len(shuffled))])
			check(err)
			for _, value := range values {
				seen(value != nil)
			}
		}
	})
	scan := timed(func() {
		count := 0
		for _, err := range table.All() {
			check(err)
			count++
		}
		seen(count == len(keys))
	})
	memory, err := store.Memory()
	check(err)
	row("Twindex, "+index, len(keys), uint64(memory), insert, inserts, found, selects, scan)
	check(store.Close())
}

func seen(is bool) {
	if !is {
		panic("a pair is missing")
	}
}

// heap is what is in use, all else collected.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// clone is what a map keeps of bytes that the caller may change.
func clone(key []byte) []byte { return append(make([]byte, 0, len(key)), key...) }

func mapRow(keys, shuffled [][]byte) {
	before := heap()
	table := map[string][]byte{}
	insert := timed(func() {
		for _, key := range keys {
			table[string(key)] = clone(key)
		}
	})
	bytes := heap() - before
	find := timed(func() {
		for _, key := range shuffled {
			seen(table[string(key)] != nil)
		}
	})
	scan := timed(func() {
		count := 0
		for range table {
			count++
		}
		seen(count == len(keys))
	})
	row("map", len(keys), bytes, insert, 0, find, 0, scan)
	runtime.KeepAlive(table)
}

type item struct {
	key   string
	value []byte
}

func treeRow(keys, shuffled [][]byte) {
	before := heap()
	tree := btree.NewG(32, func(one, other item) bool { return one.key < other.key })
	insert := timed(func() {
		for _, key := range keys {
			tree.ReplaceOrInsert(item{string(key), clone(key)})
		}
	})
	bytes := heap() - before
	find := timed(func() {
		for _, key := range shuffled {
			_, is := tree.Get(item{key: string(key)})
			seen(is)
		}
	})
	scan := timed(func() {
		count := 0
		tree.Ascend(func(item) bool { count++; return true })
		seen(count == len(keys))
	})
	row("google/btree", len(keys), bytes, insert, 0, find, 0, scan)
	runtime.KeepAlive(tree)
}
