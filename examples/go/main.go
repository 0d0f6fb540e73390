// A first program over Twindex, and what it costs beside Go's map and a B-tree:
//
//	go run .                  opens a store, writes, reads and scans
//	go run . -dump app.dump   shows what is in a dump that any language made
//	go run . -bench 200000    measures with so many pairs
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"github.com/twindex/twindex/examples/go/twindex"
)

func main() {
	module := flag.String("module", "../../wasm/npm/twindex.fast.wasm", "the WebAssembly module")
	dump := flag.String("dump", "", "a dump to show")
	pairs := flag.Int("bench", 0, "measures with so many pairs")
	flag.Parse()
	wasm, err := os.ReadFile(*module)
	check(err)
	engine, err := twindex.New(context.Background(), wasm, rand.Uint64())
	check(err)
	defer engine.Close()
	switch {
	case *pairs > 0:
		bench(engine, *pairs)
	case *dump != "":
		check(show(engine, *dump))
	default:
		check(first(engine))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func first(engine *twindex.Engine) error {
	store, err := engine.NewStore(twindex.NoLimit)
	if err != nil {
		return err
	}
	users, err := store.Table("users", "hash")
	if err != nil {
		return err
	}
	if _, err := users.Insert([]byte("ada"), []byte("1815")); err != nil {
		return err
	}
	value, err := users.Select([]byte("ada"))
	fmt.Println("ada", string(value))
	if err != nil {
		return err
	}
	events, err := store.Table("log", "sorted")
	if err != nil {
		return err
	}
	for _, day := range []string{"2026-11-02", "2026-11-01", "2025-12-31"} {
		if _, err := events.Upsert([]byte(day), []byte("x")); err != nil {
			return err
		}
	}
	return scan(events, twindex.StartingWith([]byte("2026-")))
}

func scan(table *twindex.Table, of twindex.Range) error {
	for pair, err := range table.Scan(of, false) {
		if err != nil {
			return err
		}
		fmt.Printf("%s %s\n", pair.Key, pair.Value)
	}
	return nil
}

func show(engine *twindex.Engine, path string) error {
	dump, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	store, err := engine.Load(dump, twindex.NoLimit)
	if err != nil {
		return err
	}
	tables, err := store.Tables()
	if err != nil {
		return err
	}
	for _, each := range tables {
		table, err := store.Table(string(each.Key), string(each.Value))
		if err != nil {
			return err
		}
		length, err := table.Len()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s, %d pairs\n", each.Key, each.Value, length)
	}
	return nil
}
