package twindex;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import twindex.Twindex.Answer;
import twindex.Twindex.Bound;
import twindex.Twindex.Handle;
import twindex.Twindex.Pair;
import twindex.Twindex.TwindexException;

/** What every language must do alike. Bytes are compared in hexadecimal. */
final class VectorsTest {
    /** The arguments of each verb in the order of the module's function. */
    private static final Map<String, String> ARGUMENTS = new HashMap<>();

    static {
        String all = "drop_table:name table:name,index memory_limit:bytes insert:key,value replace:key,value upsert:key,value "
                + "delete:key contains:key select:key increment:key,by compare_and_swap:key,expected,new insert_many:pairs "
                + "replace_many:pairs upsert_many:pairs delete_many:keys contains_many:keys select_many:keys "
                + "increment_many:amounts compare_and_swap_many:swaps cursor:gt,lt scan:gt,lt,reverse,limit,all "
                + "scan_asc_next_many:limit,all scan_desc_next_many:limit,all";
        Arrays.stream(all.split(" ")).forEach(one -> ARGUMENTS.put(one.split(":")[0], one.split(":")[1]));
    }

    /** The steps that the wrapper has no verbs for. */
    private static final Set<String> LACKING = Set.of("take", "first", "last", "pop_first", "pop_last", "delete_range", "delete_prefix",
            "seek", "key", "snapshot", "transaction");

    private final Map<String, Handle> handles = new HashMap<>();
    private Twindex engine;
    private Handle store;

    @Test
    void everyVectorHolds() throws IOException {
        engine = new Twindex(Files.readAllBytes(Path.of("../../wasm/npm/twindex.wasm")), 42);
        JsonNode cases = new ObjectMapper().readTree(Path.of("../../conformance/vectors.json").toFile()).get("cases");
        assertTrue(cases.size() > 0);
        for (JsonNode one : cases) {
            if (one.findValuesAsText("do").stream().anyMatch(LACKING::contains)) {
                continue;
            }
            List<String> indexes = new ArrayList<>();
            one.get("index").forEach(index -> indexes.add(index.asText()));
            for (String index : indexes.isEmpty() ? List.of("") : indexes) {
                handles.clear();
                store = engine.newStore(Twindex.NO_LIMIT);
                if (!index.isEmpty()) {
                    handles.put("t", store.table("t", index));
                }
                one.get("steps").forEach(step -> check(one.get("name").asText() + ", " + index + ": ", step));
            }
        }
    }

    private void check(String place, JsonNode step) {
        String shown = place + step.toString().substring(0, Math.min(300, step.toString().length()));
        JsonNode expect = step.get("expect");
        if (!expect.has("error")) {
            assertEquals(plain(expect), run(step), shown);
            return;
        }
        String code = expect.get("error").asText();
        if (!code.equals("TWINDEX_TYPE") && !code.equals("TWINDEX_RANGE")) { // which Java cannot say
            TwindexException error = assertThrows(TwindexException.class, () -> run(step), shown);
            assertEquals(code, error.code, shown);
            assertTrue(error.getMessage().contains(expect.path("mentions").asText("")), shown + error.getMessage());
        }
    }

    private static Object plain(JsonNode expect) {
        if (expect.isArray()) {
            List<Object> list = new ArrayList<>();
            expect.forEach(item -> list.add(plain(item)));
            return list;
        }
        return expect.isBoolean() ? (Object) expect.asBoolean() : expect.isNumber() ? expect.asLong() : hex(read(expect));
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }

    private static byte[] read(JsonNode value) {
        if (value.isMissingNode() || value.isNull()) {
            return null;
        }
        String repeated = value.path("repeat").asText().repeat(value.path("times").asInt());
        return value.isTextual() ? Twindex.bytes(value.asText()) : HexFormat.of().parseHex(value.path("hex").asText(repeated));
    }

    private static Object argument(String name, JsonNode step) {
        JsonNode value = step.path(name);
        return switch (name) {
            case "gt", "lt" -> step.has(name) ? Bound.excluding(read(value))
                    : step.has(name + "e") ? Bound.including(read(step.get(name + "e")))
                    : step.has("prefix") ? Bound.prefix(read(step.get("prefix"))) : Bound.NONE;
            case "bytes", "limit", "all" -> value.asLong(Twindex.NO_LIMIT);
            case "reverse" -> value.asBoolean() ? 1 : 0;
            case "by" -> value.asLong();
            case "keys", "pairs", "swaps", "amounts" -> block(name, value);
            default -> read(value);
        };
    }

    private static byte[] block(String name, JsonNode items) {
        ByteArrayOutputStream block = new ByteArrayOutputStream();
        for (JsonNode item : items) {
            byte[] key = read(item.isArray() ? item.get(0) : item);
            switch (name) {
                case "keys" -> Twindex.pack(block, key);
                case "pairs" -> Twindex.pack(block, key, read(item.get(1)));
                case "swaps" -> Twindex.pack(block, key, read(item.get(1)), read(item.get(2)));
                default -> {
                    block.writeBytes(Twindex.little(new byte[12]).putInt(key.length).putLong(item.get(1).asLong()).array());
                    block.writeBytes(key);
                }
            }
        }
        return block.toByteArray();
    }

    private Object run(JsonNode step) {
        String verb = step.get("do").asText();
        Handle table = handles.get(step.path("table").asText("t"));
        String id = step.path("id").asText();
        String names = ARGUMENTS.getOrDefault(verb, "");
        Object[] passed = names.isEmpty() ? new Object[0]
                : Arrays.stream(names.split(",")).map(name -> argument(name, step)).toArray();
        switch (verb) {
            case "load" -> engine.load(read(step.get("bytes")), Twindex.NO_LIMIT).close();
            case "close" -> store.close();
            case "clear" -> table.call("clear");
            case "memory_limit" -> store.call("set_memory_limit", passed);
            case "table" -> handles.put(step.get("name").asText(), store.open("table", passed));
            case "cursor" -> handles.put(id, table.open("cursor", passed));
            case "reload" -> {
                byte[] dump = store.call("dump").bytes();
                store.close();
                store = engine.load(dump, Twindex.NO_LIMIT);
                for (Pair pair : store.call("tables").pairs()) {
                    handles.put(Twindex.text(pair.key()), store.table(Twindex.text(pair.key()), Twindex.text(pair.value())));
                }
            }
            case "iter" -> {
                List<Pair> pairs = new ArrayList<>();
                table.forEach(pairs::add);
                pairs.sort((one, other) -> Arrays.compareUnsigned(one.key(), other.key()));
                return list(pairs);
            }
            case "alter" -> {
                return alter(table, read(step.get("key")), step);
            }
            default -> {
                boolean isOfStore = verb.equals("tables") || verb.equals("drop_table");
                return outcome(verb, (isOfStore ? store : id.isEmpty() ? table : handles.get(id)).call(verb, passed));
            }
        }
        return null;
    }

    private static Object outcome(String verb, Answer answer) {
        return switch (verb) {
            case "len", "increment" -> answer.number();
            case "select" -> answer.status() == 1 ? hex(answer.bytes()) : null;
            case "scan_asc_next", "scan_desc_next" -> answer.status() == 1 ? list(answer.pairs()).get(0) : null;
            case "tables", "scan", "scan_asc_next_many", "scan_desc_next_many" -> list(answer.pairs());
            default -> verb.endsWith("_many") ? outcomes(verb, Twindex.little(answer.bytes())) : answer.status() == 1;
        };
    }

    private static List<Object> outcomes(String verb, ByteBuffer rest) {
        List<Object> found = new ArrayList<>();
        while (rest.hasRemaining()) {
            switch (verb) {
                case "increment_many" -> found.add(rest.getLong());
                case "select_many" -> {
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

    private static List<Object> list(List<Pair> pairs) {
        List<Object> list = new ArrayList<>();
        pairs.forEach(pair -> list.add(List.of(hex(pair.key()), hex(pair.value()))));
        return list;
    }

    /** Select, decide, compare and swap. */
    private static boolean alter(Handle table, byte[] key, JsonNode step) {
        byte[] old = table.select(key);
        byte[] value = step.has("remove") ? null : old;
        if (step.has("append")) {
            ByteArrayOutputStream longer = new ByteArrayOutputStream();
            longer.writeBytes(old == null ? new byte[0] : old);
            longer.writeBytes(read(step.get("append")));
            value = longer.toByteArray();
        }
        table.call("compare_and_swap", key, old, value);
        return !step.has("keep") && (old != null || value != null);
    }
}
