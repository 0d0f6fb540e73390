package twindex;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import twindex.Twindex.Bound;
import twindex.Twindex.Cursor;
import twindex.Twindex.Pair;
import twindex.Twindex.Store;
import twindex.Twindex.Table;
import twindex.Twindex.TwindexException;

/** What every language must do alike. An argument of a wrong type cannot be said in Java: reading it fails here. */
final class VectorsTest {
    private static Twindex engine;

    @BeforeAll
    static void start() throws IOException {
        engine = new Twindex(Files.readAllBytes(Path.of("../../wasm/npm/twindex.wasm")), 42);
    }

    @TestFactory
    List<DynamicTest> vectors() throws IOException {
        JsonNode cases = new ObjectMapper().readTree(Path.of("../../conformance/vectors.json").toFile()).get("cases");
        List<DynamicTest> tests = new ArrayList<>();
        for (JsonNode one : cases) {
            List<String> indexes = new ArrayList<>();
            one.get("index").forEach(index -> indexes.add(index.asText()));
            if (indexes.isEmpty()) {
                indexes.add("");
            }
            for (String index : indexes) {
                tests.add(DynamicTest.dynamicTest(one.get("name").asText() + ", " + index, () -> run(one, index)));
            }
        }
        assertFalse(tests.isEmpty());
        return tests;
    }

    /** A dump that Python made, where the variable names one, or else one of Java's own with the same pairs. */
    @Test
    void aDump() throws IOException {
        String path = System.getenv("TWINDEX_DUMP");
        Store store = engine.load(path == null ? ownDump() : Files.readAllBytes(Path.of(path)), Twindex.NO_LIMIT);
        assertEquals("1815", Twindex.text(store.table("users", "hash").select(Twindex.bytes("ada"))));
        List<String> days = new ArrayList<>();
        Bound start = Bound.prefix(Twindex.bytes("day-"));
        store.table("log", "sorted").scan(start, start, false, pair -> days.add(Twindex.text(pair.key())));
        assertEquals(1000, days.size());
        assertEquals(days.stream().sorted().toList(), days);
    }

    private static byte[] ownDump() {
        Store store = engine.newStore(Twindex.NO_LIMIT);
        store.table("users", "hash").write("insert", Twindex.bytes("ada"), Twindex.bytes("1815"));
        Table log = store.table("log", "sorted");
        for (int day = 0; day < 1000; day++) {
            log.write("insert", Twindex.bytes(String.format("day-%03d", day)), Twindex.bytes("x"));
        }
        return store.dump();
    }

    private static void run(JsonNode one, String index) {
        Runner runner = new Runner(index);
        int number = 0;
        for (JsonNode step : one.get("steps")) {
            String shown = "step " + number++ + ", " + step.toString().substring(0, Math.min(300, step.toString().length()));
            JsonNode expect = step.get("expect");
            if (expect.has("error")) {
                TwindexException error = assertThrows(TwindexException.class, () -> runner.run(step), shown);
                assertEquals(expect.get("error").asText(), error.code, shown);
                String mentions = expect.has("mentions") ? expect.get("mentions").asText() : "";
                assertTrue(error.getMessage().contains(mentions), shown + error.getMessage());
            } else {
                assertEquals(plain(expect), runner.run(step), shown);
            }
        }
    }

    /** An expectation as outcomes are given: bytes in hexadecimal. */
    private static Object plain(JsonNode expect) {
        if (expect.isArray()) {
            List<Object> list = new ArrayList<>();
            expect.forEach(item -> list.add(plain(item)));
            return list;
        }
        if (expect.isTextual() || expect.isObject()) {
            return hex(read(expect));
        }
        return expect.isNull() ? null : expect.isBoolean() ? (Object) expect.asBoolean() : (Object) expect.asLong();
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }

    private static List<Object> shown(Pair pair) {
        return Arrays.asList(hex(pair.key()), hex(pair.value()));
    }

    private static Object one(List<Pair> pairs) {
        return pairs.isEmpty() ? null : shown(pairs.get(0));
    }

    private static Object shown(Iterable<Pair> pairs) {
        List<Object> list = new ArrayList<>();
        pairs.forEach(pair -> list.add(shown(pair)));
        return list;
    }

    private static TwindexException cannotSay(String code) {
        return new TwindexException(code, "Java cannot say that");
    }

    private static byte[] read(JsonNode value) {
        if (value != null && value.isTextual()) {
            return Twindex.bytes(value.asText());
        }
        if (value != null && value.has("hex")) {
            return HexFormat.of().parseHex(value.get("hex").asText());
        }
        if (value != null && value.has("repeat")) {
            byte[] once = HexFormat.of().parseHex(value.get("repeat").asText());
            byte[] all = new byte[once.length * value.get("times").asInt()];
            for (int at = 0; at < all.length; at++) {
                all[at] = once[at % once.length];
            }
            return all;
        }
        throw cannotSay("TWINDEX_TYPE");
    }

    private static byte[] optional(JsonNode value) {
        return value.isNull() ? null : read(value);
    }

    private static long integer(JsonNode value) {
        if (!value.isIntegralNumber() || !value.canConvertToLong()) {
            throw cannotSay("TWINDEX_TYPE");
        }
        return value.asLong();
    }

    private static long size(JsonNode value) {
        long number = integer(value);
        if (number < 0) {
            throw cannotSay("TWINDEX_RANGE");
        }
        return number;
    }

    private static String typed(JsonNode value) {
        if (!value.isTextual()) {
            throw cannotSay("TWINDEX_TYPE");
        }
        return value.asText();
    }

    private static Bound from(JsonNode step) {
        return bound(step, new String[] {"gt", "gte", "prefix"});
    }

    private static Bound to(JsonNode step) {
        return bound(step, new String[] {"lt", "lte", "prefix"});
    }

    private static Bound bound(JsonNode step, String[] names) {
        Bound found = Bound.NONE;
        for (String name : names) {
            if (!step.has(name)) {
                continue;
            }
            if (found != Bound.NONE) {
                throw cannotSay("TWINDEX_RANGE");
            }
            byte[] key = read(step.get(name));
            found = switch (name) {
                case "gt", "lt" -> Bound.excluding(key);
                case "prefix" -> Bound.prefix(key);
                default -> Bound.including(key);
            };
        }
        return found;
    }

    /** One store, its open tables and cursors. */
    private static final class Runner {
        private Store store = engine.newStore(Twindex.NO_LIMIT);
        private final Map<String, Table> tables = new HashMap<>();
        private final Map<String, Cursor> cursors = new HashMap<>();

        Runner(String index) {
            if (!index.isEmpty()) {
                tables.put("t", store.table("t", index));
            }
        }

        Object run(JsonNode step) {
            Table table = tables.get(step.has("table") ? step.get("table").asText() : "t");
            Cursor cursor = step.has("id") ? cursors.get(step.get("id").asText()) : null;
            String verb = step.get("do").asText();
            return switch (verb) {
                case "table", "tables", "drop_table", "memory_limit", "reload", "load", "close" -> onStore(verb, step);
                case "cursor" -> {
                    cursors.put(step.get("id").asText(), table.cursor(from(step), to(step)));
                    yield null;
                }
                case "scan_asc_next" -> one(cursor.next("asc", 1));
                case "scan_desc_next" -> one(cursor.next("desc", 1));
                case "scan_asc_next_many" -> shown(cursor.next("asc", (int) size(step.get("limit"))));
                case "scan_desc_next_many" -> shown(cursor.next("desc", (int) size(step.get("limit"))));
                case "scan" -> scan(table, step);
                case "iter" -> {
                    List<Pair> pairs = new ArrayList<>();
                    table.forEach(pairs::add);
                    pairs.sort((one, other) -> Arrays.compareUnsigned(one.key(), other.key()));
                    yield shown(pairs);
                }
                case "len" -> table.size();
                case "clear" -> {
                    table.clear();
                    yield null;
                }
                default -> verb.endsWith("_many") ? many(table, verb, step) : onKey(table, verb, step);
            };
        }

        private static Object scan(Table table, JsonNode step) {
            long limit = step.has("limit") ? size(step.get("limit")) : Long.MAX_VALUE;
            boolean reverse = step.has("reverse") && step.get("reverse").asBoolean();
            List<Pair> pairs = new ArrayList<>();
            table.scan(from(step), to(step), reverse, pair -> {
                if (pairs.size() < limit) {
                    pairs.add(pair);
                }
            });
            return shown(pairs);
        }

        private static Object onKey(Table table, String verb, JsonNode step) {
            byte[] key = read(step.get("key"));
            return switch (verb) {
                case "insert" -> table.write(verb, key, read(step.get("value")));
                case "replace" -> table.write(verb, key, read(step.get("value")));
                case "upsert" -> table.write(verb, key, read(step.get("value")));
                case "delete" -> table.delete(key);
                case "contains" -> table.contains(key);
                case "select" -> hex(table.select(key));
                case "increment" -> table.increment(key, integer(step.get("by")));
                case "compare_and_swap" -> table.compareAndSwap(
                        key, optional(step.get("expected")), optional(step.get("new")));
                case "alter" -> alter(table, key, step);
                default -> throw new IllegalArgumentException(verb);
            };
        }

        /** Select, decide, compare and swap. */
        private static boolean alter(Table table, byte[] key, JsonNode step) {
            byte[] old = table.select(key);
            byte[] value = old;
            if (step.has("append")) {
                byte[] more = read(step.get("append"));
                value = Arrays.copyOf(old == null ? new byte[0] : old, (old == null ? 0 : old.length) + more.length);
                System.arraycopy(more, 0, value, value.length - more.length, more.length);
            } else if (step.has("remove")) {
                value = null;
            }
            assertTrue(table.compareAndSwap(key, old, value), "nobody else writes");
            return !(step.has("keep") || (old == null && value == null));
        }

        private static Object many(Table table, String verb, JsonNode step) {
            String name = verb.substring(0, verb.length() - "_many".length());
            ByteArrayOutputStream block = new ByteArrayOutputStream();
            step.path("keys").forEach(key -> Twindex.pack(block, read(key)));
            step.path("pairs").forEach(pair -> Twindex.pack(block, read(pair.get(0)), read(pair.get(1))));
            step.path("swaps").forEach(swap -> Twindex.pack(
                    block, read(swap.get(0)), optional(swap.get(1)), optional(swap.get(2))));
            step.path("amounts").forEach(amount -> {
                byte[] key = read(amount.get(0));
                ByteBuffer head = Twindex.little(12).putInt(key.length).putLong(integer(amount.get(1)));
                block.writeBytes(head.array());
                block.writeBytes(key);
            });
            byte[] answer = table.many(name, block.toByteArray());
            List<Object> found = new ArrayList<>();
            for (ByteBuffer rest = ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN); rest.hasRemaining(); ) {
                switch (name) {
                    case "increment" -> found.add(rest.getLong());
                    case "select" -> {
                        int length = rest.getInt();
                        byte[] value = new byte[Math.max(0, length)];
                        rest.get(value);
                        found.add(length < 0 ? null : hex(value));
                    }
                    default -> found.add(rest.get() == 1);
                }
            }
            return found;
        }

        private Object onStore(String verb, JsonNode step) {
            switch (verb) {
                case "table" -> {
                    String name = typed(step.get("name"));
                    tables.put(name, store.table(name, typed(step.get("index"))));
                }
                case "tables" -> {
                    return shown(store.tables());
                }
                case "drop_table" -> {
                    return store.dropTable(typed(step.get("name")));
                }
                case "memory_limit" -> store.setMemoryLimit(
                        step.get("bytes").isNull() ? Twindex.NO_LIMIT : size(step.get("bytes")));
                case "load" -> engine.load(read(step.get("bytes")), Twindex.NO_LIMIT).close();
                case "close" -> store.close();
                default -> reload();
            }
            return null;
        }

        private void reload() {
            byte[] dump = store.dump();
            store.close();
            store = engine.load(dump, Twindex.NO_LIMIT);
            for (Pair table : store.tables()) {
                String name = Twindex.text(table.key());
                tables.put(name, store.table(name, Twindex.text(table.value())));
            }
        }
    }
}
