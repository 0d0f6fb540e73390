package twindex;

import java.util.List;
import twindex.Engine.Answer;
import twindex.Engine.Pair;

/** A set of tables. */
public final class Store implements AutoCloseable {
    private final Engine engine;
    private final long[] handle;

    Store(Engine engine, int handle) {
        this.engine = engine;
        this.handle = new long[] {handle};
    }

    /** Opens or creates a table. The index is "hash" or "sorted". */
    public Table table(String name, String index) {
        byte[][] texts = {Engine.bytes(name), Engine.bytes(index)};
        return new Table(engine, engine.call("twindex_table", handle, texts, Engine.NUMBERS, Answer::status));
    }

    /** The names of all tables, each with its index. */
    public List<Pair> tables() {
        return engine.call("twindex_tables", handle, Engine.NONE, Engine.NUMBERS, answer -> Engine.pairs(answer.bytes()));
    }

    /** Whether there was such a table. */
    public boolean dropTable(String name) {
        byte[][] texts = {Engine.bytes(name)};
        return engine.call("twindex_drop_table", handle, texts, Engine.NUMBERS, Answer::status) == 1;
    }

    /** The bytes that the store takes. */
    public long memory() {
        return engine.call("twindex_memory", handle, Engine.NONE, Engine.NUMBERS, Answer::number);
    }

    /** Bounds the bytes that the store takes. */
    public void setMemoryLimit(long bytes) {
        engine.call("twindex_set_memory_limit", handle, Engine.NONE, new long[] {bytes}, Answer::status);
    }

    /** The whole store as bytes. */
    public byte[] dump() {
        return engine.call("twindex_dump", handle, Engine.NONE, Engine.NUMBERS, Answer::bytes);
    }

    /** Frees the store's memory. */
    @Override
    public void close() {
        engine.call("twindex_close", handle, Engine.NONE, Engine.NUMBERS, Answer::status);
    }
}
