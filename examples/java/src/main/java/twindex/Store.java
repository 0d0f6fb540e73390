package twindex;

import java.util.List;
import twindex.Engine.Answer;
import twindex.Engine.Pair;

/** A set of tables. */
public final class Store implements AutoCloseable {
    private final Engine engine;
    private final int handle;

    Store(Engine engine, int handle) {
        this.engine = engine;
        this.handle = handle;
    }

    /** Opens or creates a table. The index is "hash" or "sorted". */
    public Table table(String name, String index) {
        return new Table(engine, engine.call("twindex_table", handle, Engine.bytes(name), Engine.bytes(index)));
    }

    /** The names of all tables, each with its index. */
    public List<Pair> tables() {
        return engine.call("twindex_tables", Answer::pairs, handle);
    }

    /** Whether there was such a table. */
    public boolean dropTable(String name) {
        return engine.call("twindex_drop_table", handle, Engine.bytes(name)) == 1;
    }

    /** The bytes that the store takes. */
    public long memory() {
        return engine.call("twindex_memory", Answer::number, handle);
    }

    /** Bounds the bytes that the store takes. */
    public void setMemoryLimit(long bytes) {
        engine.call("twindex_set_memory_limit", handle, bytes);
    }

    /** The whole store as bytes. */
    public byte[] dump() {
        return engine.call("twindex_dump", Answer::bytes, handle);
    }

    /** Frees the store's memory. */
    @Override
    public void close() {
        engine.call("twindex_close", handle);
    }
}
