package twindex;

import com.dylibso.chicory.compiler.MachineFactoryCompiler;
import com.dylibso.chicory.runtime.ExportFunction;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import com.dylibso.chicory.wasm.Parser;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The whole engine in a Java program, as a WebAssembly module and without native code: a thin layer over the module's interface,
 * which docs/wasm.md of the repository describes. Threads may share one. It does one call at a time.
 */
public final class Twindex {
    /** The memory limit of a store without one. */
    public static final long NO_LIMIT = -1;

    /** The length of a value that is not there. */
    private static final int ABSENT = -1;

    /** How many bytes of pairs cross the border at once. */
    private static final long BLOCK = 1 << 16;

    private final Memory memory;
    private final Map<String, ExportFunction> functions = new HashMap<>();
    private final Instance instance;

    /** Where the module says what a call answers. */
    private final int cell;

    /** Where the bytes of arguments go, and how many fit. */
    private int buffer;

    private int room;

    /** A key and a value. */
    public record Pair(byte[] key, byte[] value) {}

    /** One end of a range. */
    public record Bound(int kind, byte[] key) {
        /** No bound. */
        public static final Bound NONE = new Bound(0, new byte[0]);

        /** An end with its key in the range. */
        public static Bound including(byte[] key) {
            return new Bound(1, key);
        }

        /** An end with its key out of the range. */
        public static Bound excluding(byte[] key) {
            return new Bound(2, key);
        }

        /** As both ends: all keys that start so. */
        public static Bound prefix(byte[] prefix) {
            return new Bound(3, prefix);
        }
    }

    /** An error of the engine. Its code is the same in all languages. */
    public static final class TwindexException extends RuntimeException {
        private static final long serialVersionUID = 1;

        public final String code;

        TwindexException(String code, String text) {
            super(code + ": " + text);
            this.code = code;
        }
    }

    /** Compiles the module. The secret makes it unforeseeable which keys collide: give 64 random bits. */
    public Twindex(byte[] wasm, long secret) {
        instance = Instance.builder(Parser.parse(wasm)).withMachineFactory(MachineFactoryCompiler::compile).build();
        memory = instance.memory();
        if (raw("twindex_abi_version") != 1) {
            throw new IllegalStateException("the module has not version 1 of the interface");
        }
        cell = raw("twindex_answer");
        raw("twindex_seed", secret);
    }

    private int raw(String name, long... arguments) {
        return (int) functions.computeIfAbsent(name, instance::export).apply(arguments)[0];
    }

    /** What a call says beside its status. The bytes are the module's, and are copied when asked for. */
    private record Answer(int status, Memory memory, int address, int length, long number) {
        byte[] bytes() {
            return memory.readBytes(address, length);
        }

        List<Pair> pairs() {
            List<Pair> pairs = new ArrayList<>();
            ByteBuffer rest = ByteBuffer.wrap(bytes()).order(ByteOrder.LITTLE_ENDIAN);
            while (rest.hasRemaining()) {
                byte[] key = new byte[rest.getInt()];
                byte[] value = new byte[rest.getInt()];
                rest.get(key).get(value);
                pairs.add(new Pair(key, value));
            }
            return pairs;
        }
    }

    /**
     * Calls a function, and gives what is made of its answer. An argument is a number, or bytes, which are copied into the module's
     * memory; null stands for an absent value.
     */
    private synchronized <T> T call(String name, Function<Answer, T> read, Object... arguments) {
        int total = 1;
        int words = 0;
        for (Object argument : arguments) {
            total += argument instanceof byte[] bytes ? bytes.length : 0;
            words += argument instanceof Number ? 1 : 2;
        }
        makeRoom(total);
        long[] passed = new long[words];
        int address = buffer;
        int at = 0;
        for (Object argument : arguments) {
            if (argument instanceof Number number) {
                passed[at++] = number.longValue();
                continue;
            }
            byte[] bytes = (byte[]) argument;
            passed[at++] = address;
            passed[at++] = bytes == null ? ABSENT : bytes.length;
            if (bytes != null) {
                memory.write(address, bytes);
                address += bytes.length;
            }
        }
        int status = raw(name, passed);
        if (status < 0) {
            throw lastError();
        }
        return read.apply(answered(status));
    }

    /** A buffer for the bytes of arguments. */
    private void makeRoom(int total) {
        if (total <= room) {
            return;
        }
        if (buffer != 0) {
            raw("twindex_free", buffer);
            room = 0;
        }
        buffer = raw("twindex_alloc", 2L * total);
        if (buffer == 0) {
            throw lastError();
        }
        room = 2 * total;
    }

    private TwindexException lastError() {
        raw("twindex_last_error");
        Pair error = answered(1).pairs().get(0);
        return new TwindexException(text(error.key), text(error.value));
    }

    private Answer answered(int status) {
        return new Answer(status, memory, memory.readInt(cell), memory.readInt(cell + 4), memory.readLong(cell + 8));
    }

    /** An empty store. */
    public Store newStore(long memoryLimit) {
        return new Store(call("twindex_store_new", Answer::status, memoryLimit));
    }

    /** A store of a dump, which any language may have made. */
    public Store load(byte[] dump, long memoryLimit) {
        return new Store(call("twindex_load", Answer::status, dump, memoryLimit));
    }

    public static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Packs an item behind a block: the lengths of its parts, then their bytes. A part that is null is an absent value. */
    public static void pack(ByteArrayOutputStream block, byte[]... parts) {
        for (byte[] part : parts) {
            block.writeBytes(little(4).putInt(part == null ? ABSENT : part.length).array());
        }
        for (byte[] part : parts) {
            block.writeBytes(part == null ? new byte[0] : part);
        }
    }

    static ByteBuffer little(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** An object of the module. */
    private abstract class Handle implements AutoCloseable {
        private final int handle;

        Handle(int handle) {
            this.handle = handle;
        }

        <T> T call(String name, Function<Answer, T> read, Object... arguments) {
            Object[] all = new Object[arguments.length + 1];
            all[0] = handle;
            System.arraycopy(arguments, 0, all, 1, arguments.length);
            return Twindex.this.call(name, read, all);
        }

        boolean took(String name, Object... arguments) {
            return call(name, Answer::status, arguments) == 1;
        }

        /** Frees what the object holds. */
        @Override
        public void close() {
            call("twindex_close", Answer::status);
        }
    }

    /** A set of tables. */
    public final class Store extends Handle {
        private Store(int handle) {
            super(handle);
        }

        /** Opens or creates a table. The index is "hash" or "sorted". */
        public Table table(String name, String index) {
            return new Table(call("twindex_table", Answer::status, bytes(name), bytes(index)));
        }

        /** The names of all tables, each with its index. */
        public List<Pair> tables() {
            return call("twindex_tables", Answer::pairs);
        }

        /** Whether there was such a table. */
        public boolean dropTable(String name) {
            return took("twindex_drop_table", bytes(name));
        }

        /** Bounds the bytes that the store takes. */
        public void setMemoryLimit(long bytes) {
            call("twindex_set_memory_limit", Answer::status, bytes);
        }

        /** The whole store as bytes. */
        public byte[] dump() {
            return call("twindex_dump", Answer::bytes);
        }
    }

    /** Pairs under one index. Verbs that write tell whether they took effect. */
    public final class Table extends Handle {
        private Table(int handle) {
            super(handle);
        }

        /** The verb {@code insert} (where the key is absent), {@code replace} (where it is present) or {@code upsert} (either). */
        public boolean write(String verb, byte[] key, byte[] value) {
            return took("twindex_" + verb, key, value);
        }

        public boolean delete(byte[] key) {
            return took("twindex_delete", key);
        }

        public boolean contains(byte[] key) {
            return took("twindex_contains", key);
        }

        /** Writes, or deletes for null, if the value is as expected; null is an absent value. */
        public boolean compareAndSwap(byte[] key, byte[] expected, byte[] value) {
            return took("twindex_compare_and_swap", key, expected, value);
        }

        /** Removes all pairs. */
        public void clear() {
            took("twindex_clear");
        }

        /** The value, or null where the key is absent. */
        public byte[] select(byte[] key) {
            return call("twindex_select", answer -> answer.status() == 1 ? answer.bytes() : null, key);
        }

        /** Adds to a decimal number, which is 0 where the key is absent: the sum. */
        public long increment(byte[] key, long by) {
            return call("twindex_increment", Answer::number, key, by);
        }

        /** The number of pairs. */
        public long size() {
            return call("twindex_len", Answer::number);
        }

        /**
         * A verb for a block of items that {@link #pack} made: pairs, keys or swaps. Gives a byte for each, 1 or 0; packed values for
         * {@code select}; sums of 8 bytes for {@code increment}, whose items are a key's length, a long and the key.
         */
        public byte[] many(String verb, byte[] block) {
            return call("twindex_" + verb + "_many", Answer::bytes, block);
        }

        /** Visits the pairs of a range in the order of their keys, or in reverse. Sees what is written meanwhile. */
        public void scan(Bound from, Bound to, boolean reverse, Consumer<Pair> visit) {
            Bound[] ends = {from, to};
            visitBlocks(visit, () -> {
                List<Pair> pairs = call("twindex_scan", Answer::pairs, ends[0].kind(), ends[0].key(), ends[1].kind(),
                        ends[1].key(), reverse ? 1 : 0, ABSENT, BLOCK);
                if (!pairs.isEmpty()) {
                    ends[reverse ? 1 : 0] = Bound.excluding(pairs.get(pairs.size() - 1).key());
                }
                return pairs;
            });
        }

        /** Visits every pair of a table, of either index. */
        public void forEach(Consumer<Pair> visit) {
            try (Cursor iterator = new Cursor(call("twindex_iter", Answer::status))) {
                visitBlocks(visit, () -> iterator.call("twindex_iter_next_many", Answer::pairs, ABSENT, BLOCK));
            }
        }

        private void visitBlocks(Consumer<Pair> visit, Supplier<List<Pair>> next) {
            for (List<Pair> pairs = next.get(); !pairs.isEmpty(); pairs = next.get()) {
                pairs.forEach(visit);
            }
        }

        /** A cursor, at first before the first pair of the range and after its last. */
        public Cursor cursor(Bound from, Bound to) {
            return new Cursor(
                    call("twindex_cursor", Answer::status, from.kind(), from.key(), to.kind(), to.key()));
        }
    }

    /** A position in a range of a sorted table. Holds no lock, and stays valid whatever is written. */
    public final class Cursor extends Handle {
        private Cursor(int handle) {
            super(handle);
        }

        /** Up to so many pairs, upwards for {@code asc} and downwards for {@code desc}; none at the end. */
        public List<Pair> next(String way, int count) {
            return call("twindex_scan_" + way + "_next_many", Answer::pairs, count, ABSENT);
        }
    }
}
