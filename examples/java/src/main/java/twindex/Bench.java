package twindex;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import twindex.Engine.Pair;

/** Pairs of 16 + 16 bytes in random order: nanoseconds a pair, and bytes a pair, beside HashMap and TreeMap. */
final class Bench {
    private static final int BATCH = 1000;

    private Bench() {}

    static void run(Engine engine, int count) {
        Random random = new Random(1);
        List<byte[]> keys = new ArrayList<>();
        for (int at = 0; at < count; at++) {
            keys.add(ByteBuffer.allocate(16).putLong(random.nextLong()).putLong(at).array());
        }
        List<byte[]> shuffled = new ArrayList<>(keys);
        Collections.shuffle(shuffled, random);
        System.out.printf("%d pairs of 16 + 16 bytes, in random order: ns a pair, and bytes a pair%n", count);
        System.out.printf("%-16s %8s %8s %8s %8s %8s %8s%n", "", "insert", "batched", "select", "batched", "scan", "bytes");
        for (String index : new String[] {"hash", "sorted"}) {
            // The first time the JVM compiles what it runs.
            twindex(engine, index, keys.subList(0, Math.min(count, 20_000)), shuffled, false);
            twindex(engine, index, keys, shuffled, true);
        }
        map("HashMap", new HashMap<>(), keys.subList(0, Math.min(count, 20_000)), shuffled, false);
        map("HashMap", new HashMap<>(), keys, shuffled, true);
        map("TreeMap", new TreeMap<>(), keys.subList(0, Math.min(count, 20_000)), shuffled, false);
        map("TreeMap", new TreeMap<>(), keys, shuffled, true);
    }

    private static long timed(Runnable work) {
        long started = System.nanoTime();
        work.run();
        return System.nanoTime() - started;
    }

    private static void row(String name, int count, long bytes, long... times) {
        StringBuilder row = new StringBuilder(String.format("%-16s", name));
        for (long time : times) {
            row.append(String.format(" %8s", time == 0 ? "-" : Long.toString(time / count)));
        }
        System.out.println(row + String.format(" %8d", bytes / count));
    }

    private static void twindex(Engine engine, String index, List<byte[]> keys, List<byte[]> shuffled, boolean shown) {
        long insert;
        try (Store store = engine.newStore(Engine.NO_LIMIT)) {
            Table table = store.table("t", index);
            insert = timed(() -> keys.forEach(key -> table.insert(key, key)));
        }
        try (Store store = engine.newStore(Engine.NO_LIMIT)) {
            Table table = store.table("t", index);
            long inserts = timed(() -> {
                for (int from = 0; from < keys.size(); from += BATCH) {
                    List<byte[]> some = keys.subList(from, Math.min(from + BATCH, keys.size()));
                    table.writeMany("insert", some.stream().map(key -> new Pair(key, key)).toList());
                }
            });
            long select = timed(() -> shuffled.subList(0, keys.size()).forEach(table::select));
            long selects = timed(() -> {
                for (int from = 0; from < keys.size(); from += BATCH) {
                    table.selectMany(shuffled.subList(from, Math.min(from + BATCH, keys.size())));
                }
            });
            long[] seen = {0};
            long scan = timed(() -> table.all().forEach(pair -> seen[0]++));
            if (seen[0] != keys.size()) {
                throw new IllegalStateException("a pair is missing");
            }
            if (shown) {
                row("Twindex, " + index, keys.size(), store.memory(), insert, inserts, select, selects, scan);
            }
        }
    }

    /** What is in use, all else collected. */
    private static long heap() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static void map(
            String name, Map<ByteBuffer, byte[]> map, List<byte[]> keys, List<byte[]> shuffled, boolean shown) {
        long before = heap();
        long insert = timed(() -> keys.forEach(key -> map.put(ByteBuffer.wrap(key.clone()), key.clone())));
        long bytes = heap() - before;
        long[] seen = {0};
        long select = timed(() -> shuffled.subList(0, keys.size()).forEach(key -> {
            seen[0] += map.get(ByteBuffer.wrap(key)) == null ? 0 : 1;
        }));
        long scan = timed(() -> map.forEach((key, value) -> seen[0]++));
        if (seen[0] < keys.size()) {
            throw new IllegalStateException("a pair is missing");
        }
        if (shown) {
            row(name, keys.size(), bytes, insert, 0, select, 0, scan);
        }
    }
}
