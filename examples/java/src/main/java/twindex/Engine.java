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
import java.util.function.Function;

/**
 * The whole engine in a Java program, as a WebAssembly module and without native code: a thin layer over the module's interface,
 * which docs/wasm.md of the repository describes. Threads may share an engine. It does one call at a time.
 */
public final class Engine {
    /** The memory limit of a store without one. */
    public static final long NO_LIMIT = -1;

    /** The length of a value that is not there. */
    static final int ABSENT = -1;

    private final Memory memory;
    private final Map<String, ExportFunction> functions = new HashMap<>();
    private final Instance instance;

    /** Where the module says what a call answers. */
    private final int cell;

    /** Where arguments go, and how many bytes there are. */
    private int buffer;

    private int room;

    /** What a call says beside its status. The bytes are the module's, and are copied when asked for. */
    record Answer(int status, Memory memory, int address, int length, long number) {
        byte[] bytes() {
            return memory.readBytes(address, length);
        }
    }

    /** A key and a value. */
    public record Pair(byte[] key, byte[] value) {}

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
    public Engine(byte[] wasm, long secret) {
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

    /** Calls a function with numbers, then bytes, then more numbers, and gives what is made of its answer. */
    synchronized <T> T call(
            String name, long[] before, byte[][] bytes, long[] after, Function<Answer, T> read) {
        long[] arguments = new long[before.length + 2 * bytes.length + after.length];
        System.arraycopy(before, 0, arguments, 0, before.length);
        put(arguments, before.length, bytes);
        System.arraycopy(after, 0, arguments, before.length + 2 * bytes.length, after.length);
        return read.apply(finish(raw(name, arguments)));
    }

    /** The same for a range between two numbers and others. */
    synchronized <T> T call(
            String name, long table, Range range, long[] after, Function<Answer, T> read) {
        long[] ends = new long[4];
        put(ends, 0, range.from().key(), range.to().key());
        long[] arguments = new long[7 + after.length];
        long[] first = {table, range.from().kind(), ends[0], ends[1], range.to().kind(), ends[2], ends[3]};
        System.arraycopy(first, 0, arguments, 0, first.length);
        System.arraycopy(after, 0, arguments, first.length, after.length);
        return read.apply(finish(raw(name, arguments)));
    }

    private Answer finish(int status) {
        if (status < 0) {
            raw("twindex_last_error");
            Pair error = pairs(answered(1).bytes()).get(0);
            throw new TwindexException(text(error.key), text(error.value));
        }
        return answered(status);
    }

    private Answer answered(int status) {
        return new Answer(status, memory, memory.readInt(cell), memory.readInt(cell + 4), memory.readLong(cell + 8));
    }

    /** Copies bytes into the module's memory, one after another: the address and the length of each. */
    private void put(long[] arguments, int position, byte[]... all) {
        int total = 1;
        for (byte[] bytes : all) {
            total += bytes == null ? 0 : bytes.length;
        }
        if (total > room) {
            if (buffer != 0) {
                raw("twindex_free", buffer);
                room = 0;
            }
            buffer = raw("twindex_alloc", 2L * total);
            if (buffer == 0) {
                finish(-1);
            }
            room = 2 * total;
        }
        int address = buffer;
        for (byte[] bytes : all) {
            arguments[position++] = address;
            arguments[position++] = bytes == null ? ABSENT : bytes.length;
            if (bytes != null) {
                memory.write(address, bytes);
                address += bytes.length;
            }
        }
    }

    /** An empty store. */
    public Store newStore(long memoryLimit) {
        return new Store(this, call("twindex_store_new", new long[] {memoryLimit}, NONE, NUMBERS, Answer::status));
    }

    /** A store of a dump, which any language may have made. */
    public Store load(byte[] dump, long memoryLimit) {
        return new Store(
                this, call("twindex_load", NUMBERS, new byte[][] {dump}, new long[] {memoryLimit}, Answer::status));
    }

    static final byte[][] NONE = {};
    static final long[] NUMBERS = {};

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The pairs of a block. */
    static List<Pair> pairs(byte[] block) {
        List<Pair> pairs = new ArrayList<>();
        for (Reader reader = new Reader(block); reader.hasMore(); ) {
            int key = reader.length();
            int value = reader.length();
            pairs.add(new Pair(reader.bytes(key), reader.bytes(value)));
        }
        return pairs;
    }

    /** Reads the items of a block. */
    static final class Reader {
        private final ByteBuffer block;

        Reader(byte[] block) {
            this.block = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
        }

        boolean hasMore() {
            return block.hasRemaining();
        }

        int length() {
            return block.getInt();
        }

        long number() {
            return block.getLong();
        }

        byte[] bytes(int length) {
            if (length == ABSENT) {
                return null;
            }
            byte[] bytes = new byte[length];
            block.get(bytes);
            return bytes;
        }
    }

    /** Writes the items of a block: the lengths, then the bytes. */
    static final class Packer {
        private final ByteArrayOutputStream block = new ByteArrayOutputStream();

        void item(byte[]... item) {
            for (byte[] bytes : item) {
                length(bytes);
            }
            for (byte[] bytes : item) {
                bytes(bytes);
            }
        }

        void length(byte[] bytes) {
            little(bytes == null ? ABSENT : bytes.length, 4);
        }

        void number(long number) {
            little(number, 8);
        }

        void bytes(byte[] bytes) {
            if (bytes != null) {
                block.writeBytes(bytes);
            }
        }

        private void little(long number, int size) {
            for (int at = 0; at < size; at++) {
                block.write((int) (number >>> (8 * at)));
            }
        }

        byte[] packed() {
            return block.toByteArray();
        }
    }
}
