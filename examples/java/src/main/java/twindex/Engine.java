package twindex;

import com.dylibso.chicory.compiler.MachineFactoryCompiler;
import com.dylibso.chicory.runtime.ExportFunction;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import com.dylibso.chicory.wasm.Parser;
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

        List<Pair> pairs() {
            List<Pair> pairs = new ArrayList<>();
            for (Block block = new Block(bytes()); block.hasMore(); ) {
                int key = block.length();
                int value = block.length();
                pairs.add(new Pair(block.bytes(key), block.bytes(value)));
            }
            return pairs;
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

    /**
     * Calls a function, and gives what is made of its answer. An argument is a number, or bytes, which are copied into the module's
     * memory; null stands for an absent value.
     */
    synchronized <T> T call(String name, Function<Answer, T> read, Object... arguments) {
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

    /** The same for a function that says all by its status. */
    int call(String name, Object... arguments) {
        return call(name, Answer::status, arguments);
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
        return new Store(this, call("twindex_store_new", memoryLimit));
    }

    /** A store of a dump, which any language may have made. */
    public Store load(byte[] dump, long memoryLimit) {
        return new Store(this, call("twindex_load", dump, memoryLimit));
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
