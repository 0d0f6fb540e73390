package twindex

// Store is a set of tables.
type Store struct {
	engine *Engine
	handle argument
}

// NewStore makes an empty store.
func (e *Engine) NewStore(memoryLimit uint64) (*Store, error) {
	handle, err := e.status("twindex_store_new", number(memoryLimit))
	return &Store{e, number(handle)}, err
}

// Load makes a store of a dump, which any language may have made.
func (e *Engine) Load(dump []byte, memoryLimit uint64) (*Store, error) {
	handle, err := e.status("twindex_load", some(dump), number(memoryLimit))
	return &Store{e, number(handle)}, err
}

// Dump gives the whole store as bytes.
func (s *Store) Dump() ([]byte, error) { return s.engine.bytes(0, "twindex_dump", s.handle) }

// Memory gives the bytes that the store takes.
func (s *Store) Memory() (int64, error) { return s.engine.number("twindex_memory", s.handle) }

// SetMemoryLimit bounds the bytes that the store takes.
func (s *Store) SetMemoryLimit(bytes uint64) error {
	_, err := s.engine.status("twindex_set_memory_limit", s.handle, number(bytes))
	return err
}

// Tables gives the names of all tables, each with its index.
func (s *Store) Tables() ([]Pair, error) { return s.engine.pairs("twindex_tables", s.handle) }

// DropTable tells whether there was such a table.
func (s *Store) DropTable(name string) (bool, error) {
	status, err := s.engine.status("twindex_drop_table", s.handle, some([]byte(name)))
	return status == 1, err
}

// Close frees the store's memory.
func (s *Store) Close() error { return closed(s.engine, s.handle) }

// Table opens or creates a table. The index is "hash" or "sorted".
func (s *Store) Table(name, index string) (*Table, error) {
	handle, err := s.engine.status("twindex_table", s.handle, some([]byte(name)), some([]byte(index)))
	return &Table{s.engine, number(handle)}, err
}

func closed(e *Engine, handle argument) error {
	_, err := e.status("twindex_close", handle)
	return err
}
