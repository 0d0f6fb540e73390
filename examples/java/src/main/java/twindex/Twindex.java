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

/**
 * The whole engine in a Java program, as a WebAssembly module and without native code: a thin layer over the module's functions,
 * which docs/wasm.md of the repository describes. Threads may share one. It does one call at a time.
 */
public final class Twindex {
    /** The memory limit of a store without one; as many pairs, or bytes of them, as there are. */
    public static final long NO_LIMIT = -1;

    /** How many bytes of pairs cross the border at once. */
    private static final long BLOCK = 1 << 16;

    private final Map<String, ExportFunction> functions = new HashMap<>();
    private final Instance instance;
    private final Memory memory;

    /** Where answers are; where the bytes of arguments go, and how many fit. */
    private final int cell;

    private int buffer;
    private int room;

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
        if (raw("abi_version") != 1) {
            throw new IllegalStateException("the module has not version 1 of the interface");
        }
        cell = raw("answer");
        raw("seed", secret);
    }

    private int raw(String name, long... arguments) {
        return (int) functions.computeIfAbsent("twindex_" + name, instance::export).apply(arguments)[0];
    }

    /** A key and a value. */
    public record Pair(byte[] key, byte[] value) {}

    /** What a call says: its status, 1 for yes, its bytes, and its number. */
    public record Answer(int status, byte[] bytes, long number) {
        /** The pairs of an answer with packed pairs. */
        public List<Pair> pairs() {
            List<Pair> pairs = new ArrayList<>();
            for (ByteBuffer rest = little(bytes); rest.hasRemaining(); ) {
                byte[] key = new byte[rest.getInt()];
                byte[] value = new byte[rest.getInt()];
                rest.get(key).get(value);
                pairs.add(new Pair(key, value));
            }
            return pairs;
        }
    }

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

    /**
     * Calls a function of the module by its name behind {@code twindex_}. An argument is a number, text, a bound, or bytes, which
     * are copied into the module's memory; null stands for an absent value.
     */
    public synchronized Answer call(String name, Object... arguments) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        List<Long> passed = new ArrayList<>();
        List<Integer> addresses = new ArrayList<>();
        for (Object argument : arguments) {
            if (argument instanceof Number number) {
                passed.add(number.longValue());
                continue;
            }
            if (argument instanceof Bound bound) {
                passed.add((long) bound.kind);
            }
            byte[] piece = argument instanceof Bound bound ? bound.key
                    : argument instanceof String text ? bytes(text) : (byte[]) argument;
            addresses.add(passed.size());
            passed.add((long) bytes.size());
            passed.add(piece == null ? NO_LIMIT : piece.length);
            bytes.writeBytes(piece == null ? new byte[0] : piece);
        }
        if (bytes.size() >= room) {
            raw("free", buffer);
            room = 0;
            buffer = raw("alloc", 2L * bytes.size() + 64);
            if (buffer == 0) {
                throw lastError();
            }
            room = 2 * bytes.size() + 64;
        }
        memory.write(buffer, bytes.toByteArray());
        addresses.forEach(at -> passed.set(at, passed.get(at) + buffer));
        int status = raw(name, passed.stream().mapToLong(Long::longValue).toArray());
        if (status < 0) {
            throw lastError();
        }
        return answered(status);
    }

    private Answer answered(int status) {
        byte[] bytes = memory.readBytes(memory.readInt(cell), memory.readInt(cell + 4));
        return new Answer(status, bytes, memory.readLong(cell + 8));
    }

    private TwindexException lastError() {
        raw("last_error");
        Pair error = answered(1).pairs().get(0);
        return new TwindexException(text(error.key), text(error.value));
    }

    public static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static ByteBuffer little(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Packs an item behind the block of a function on many keys: the lengths of its parts, then their bytes. A part that is null
     * is an absent value.
     */
    public static void pack(ByteArrayOutputStream block, byte[]... parts) {
        for (byte[] part : parts) {
            block.writeBytes(little(new byte[4]).putInt(part == null ? -1 : part.length).array());
        }
        for (byte[] part : parts) {
            block.writeBytes(part == null ? new byte[0] : part);
        }
    }

    /** An empty store. */
    public Handle newStore(long memoryLimit) {
        return new Handle(call("store_new", memoryLimit).status);
    }

    /** A store of a dump, which any language may have made. */
    public Handle load(byte[] dump, long memoryLimit) {
        return new Handle(call("load", dump, memoryLimit).status);
    }

    /** A store, a table, a cursor or an iterator. Its methods are the functions that most programs need; {@link #call} has all. */
    public final class Handle implements AutoCloseable {
        private final int handle;

        private Handle(int handle) {
            this.handle = handle;
        }

        /** Calls a function whose first argument is the object. */
        public Answer call(String name, Object... arguments) {
            Object[] all = new Object[arguments.length + 1];
            all[0] = handle;
            System.arraycopy(arguments, 0, all, 1, arguments.length);
            return Twindex.this.call(name, all);
        }

        /** Calls a function that opens another object. */
        public Handle open(String name, Object... arguments) {
            return new Handle(call(name, arguments).status);
        }

        /** Opens or creates a table of a store. The index is "hash" or "sorted". */
        public Handle table(String name, String index) {
            return open("table", name, index);
        }

        /** The value of a key of a table, or null where there is none. */
        public byte[] select(byte[] key) {
            Answer answer = call("select", key);
            return answer.status == 1 ? answer.bytes : null;
        }

        /** Visits the pairs of a range of a sorted table in the order of their keys, or in reverse. */
        public void scan(Bound from, Bound to, boolean reverse, Consumer<Pair> visit) {
            each(open("cursor", from, to), reverse ? "scan_desc_next_many" : "scan_asc_next_many", visit);
        }

        /** Visits every pair of a table, of either index. */
        public void forEach(Consumer<Pair> visit) {
            each(open("iter"), "iter_next_many", visit);
        }

        private void each(Handle from, String next, Consumer<Pair> visit) {
            try (from) {
                for (List<Pair> pairs; !(pairs = from.call(next, NO_LIMIT, BLOCK).pairs()).isEmpty(); ) {
                    pairs.forEach(visit);
                }
            }
        }

        /** Frees what the object holds. */
        @Override
        public void close() {
            call("close");
        }
    }
}
