package twindex

import (
	"fmt"
	"os"
	"testing"
)

// The dump that TWINDEX_DUMP names, which Python made, or one of Go's own with the same pairs.
func dumpOf(t *testing.T) []byte {
	t.Helper()
	if path := os.Getenv("TWINDEX_DUMP"); path != "" {
		dump, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return dump
	}
	store, err := engine(t, modules[1]).NewStore(NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	users, _ := store.Table("users", "hash")
	users.Insert([]byte("ada"), []byte("1815"))
	log, _ := store.Table("log", "sorted")
	for day := range 1000 {
		log.Insert(fmt.Appendf(nil, "day-%03d", day), []byte("x"))
	}
	dump, err := store.Dump()
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

func TestDump(t *testing.T) {
	store, err := engine(t, modules[0]).Load(dumpOf(t), NoLimit)
	if err != nil {
		t.Fatal(err)
	}
	users, err := store.Table("users", "hash")
	if err != nil {
		t.Fatal(err)
	}
	if value, err := users.Select([]byte("ada")); err != nil || string(value) != "1815" {
		t.Fatalf("%q, %v", value, err)
	}
	log, err := store.Table("log", "sorted")
	if err != nil {
		t.Fatal(err)
	}
	days, last := 0, ""
	for pair, err := range log.Scan(StartingWith([]byte("day-")), false) {
		if err != nil || string(pair.Key) <= last {
			t.Fatalf("%q after %q, %v", pair.Key, last, err)
		}
		days, last = days+1, string(pair.Key)
	}
	if days != 1000 {
		t.Fatalf("%d days", days)
	}
}
