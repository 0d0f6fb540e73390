package twindex;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.function.Supplier;
import twindex.Engine.Answer;
import twindex.Engine.Packer;
import twindex.Engine.Pair;
import twindex.Engine.Reader;
import twindex.Range.Bound;

/** Pairs under one index. Verbs that write tell whether they took effect. */
public final class Table {
    /** How many bytes of pairs cross the border at once. */
    private static final long BLOCK = 1 << 16;

    private final Engine engine;
    private final long[] handle;

    Table(Engine engine, int handle) {
        this.engine = engine;
        this.handle = new long[] {handle};
    }

    private boolean verb(String name, byte[]... bytes) {
        return engine.call(name, handle, bytes, Engine.NUMBERS, Answer::status) == 1;
    }

    /** Writes only where the key is absent. */
    public boolean insert(byte[] key, byte[] value) {
        return verb("twindex_insert", key, value);
    }

    /** Writes only where the key is present. */
    public boolean replace(byte[] key, byte[] value) {
        return verb("twindex_replace", key, value);
    }

    /** Writes in either case. */
    public boolean upsert(byte[] key, byte[] value) {
        return verb("twindex_upsert", key, value);
    }

    /** Removes a pair. */
    public boolean delete(byte[] key) {
        return verb("twindex_delete", key);
    }

    /** Whether the key is there. */
    public boolean contains(byte[] key) {
        return verb("twindex_contains", key);
    }

    /** Writes, or deletes for null, if the value is as expected; null is an absent value. */
    public boolean compareAndSwap(byte[] key, byte[] expected, byte[] value) {
        return verb("twindex_compare_and_swap", key, expected, value);
    }

    /** Removes all pairs. */
    public void clear() {
        verb("twindex_clear");
    }

    /** The value, or null where the key is absent. */
    public byte[] select(byte[] key) {
        return engine.call("twindex_select", handle, new byte[][] {key}, Engine.NUMBERS,
                answer -> answer.status() == 1 ? answer.bytes() : null);
    }

    /** Adds to a decimal number, which is 0 where the key is absent: the sum. */
    public long increment(byte[] key, long by) {
        return engine.call("twindex_increment", handle, new byte[][] {key}, new long[] {by}, Answer::number);
    }

    /** The number of pairs. */
    public long size() {
        return engine.call("twindex_len", handle, Engine.NONE, Engine.NUMBERS, Answer::number);
    }

    /** The verb {@code insert}, {@code replace} or {@code upsert} for many pairs, with one call of the module. */
    public List<Boolean> writeMany(String verb, List<Pair> pairs) {
        Packer packer = new Packer();
        pairs.forEach(pair -> packer.item(pair.key(), pair.value()));
        return many("twindex_" + verb + "_many", packer);
    }

    /** The verb {@code delete} or {@code contains} for many keys. */
    public List<Boolean> forMany(String verb, List<byte[]> keys) {
        return many("twindex_" + verb + "_many", packed(keys));
    }

    /** {@link #compareAndSwap} for many: a key, what is expected and the value each. */
    public List<Boolean> compareAndSwapMany(List<byte[][]> swaps) {
        Packer packer = new Packer();
        swaps.forEach(packer::item);
        return many("twindex_compare_and_swap_many", packer);
    }

    private static Packer packed(List<byte[]> keys) {
        Packer packer = new Packer();
        keys.forEach(key -> packer.item(new byte[][] {key}));
        return packer;
    }

    private List<Boolean> many(String name, Packer block) {
        return engine.call(name, handle, new byte[][] {block.packed()}, Engine.NUMBERS, answer -> {
            List<Boolean> outcomes = new ArrayList<>();
            for (byte outcome : answer.bytes()) {
                outcomes.add(outcome == 1);
            }
            return outcomes;
        });
    }

    /** The value of each key, or null where it is absent. */
    public List<byte[]> selectMany(List<byte[]> keys) {
        byte[][] block = {packed(keys).packed()};
        return engine.call("twindex_select_many", handle, block, Engine.NUMBERS, answer -> {
            List<byte[]> values = new ArrayList<>();
            for (Reader reader = new Reader(answer.bytes()); reader.hasMore(); ) {
                values.add(reader.bytes(reader.length()));
            }
            return values;
        });
    }

    /** {@link #increment} for many keys, by as many amounts: the sums. */
    public List<Long> incrementMany(List<byte[]> keys, List<Long> amounts) {
        Packer packer = new Packer();
        for (int at = 0; at < keys.size(); at++) {
            packer.length(keys.get(at));
            packer.number(amounts.get(at));
            packer.bytes(keys.get(at));
        }
        byte[][] block = {packer.packed()};
        return engine.call("twindex_increment_many", handle, block, Engine.NUMBERS, answer -> {
            List<Long> sums = new ArrayList<>();
            for (Reader reader = new Reader(answer.bytes()); reader.hasMore(); ) {
                sums.add(reader.number());
            }
            return sums;
        });
    }

    /** The pairs of a range in the order of their keys, or in reverse. Sees what is written meanwhile. */
    public Iterable<Pair> scan(Range range, boolean reverse) {
        return () -> new Blocks(new Supplier<>() {
            private Range rest = range;

            @Override
            public List<Pair> get() {
                long[] numbers = {reverse ? 1 : 0, Engine.ABSENT, BLOCK};
                List<Pair> pairs = engine.call(
                        "twindex_scan", handle[0], rest, numbers, answer -> Engine.pairs(answer.bytes()));
                if (!pairs.isEmpty()) {
                    Bound last = Bound.excluding(pairs.get(pairs.size() - 1).key());
                    rest = reverse ? new Range(rest.from(), last) : new Range(last, rest.to());
                }
                return pairs;
            }
        });
    }

    /** Every pair of a table, of either index. */
    public Iterable<Pair> all() {
        return () -> {
            long[] iterator = {engine.call("twindex_iter", handle, Engine.NONE, Engine.NUMBERS, Answer::status)};
            return new Blocks(() -> {
                List<Pair> pairs = engine.call("twindex_iter_next_many", iterator, Engine.NONE,
                        new long[] {Engine.ABSENT, BLOCK}, answer -> Engine.pairs(answer.bytes()));
                if (pairs.isEmpty()) {
                    engine.call("twindex_close", iterator, Engine.NONE, Engine.NUMBERS, Answer::status);
                }
                return pairs;
            });
        };
    }

    /** Pairs that come in blocks, of which an empty one is the end. */
    private static final class Blocks implements Iterator<Pair> {
        private final Supplier<List<Pair>> next;
        private final Deque<Pair> waiting = new ArrayDeque<>();
        private boolean ended;

        Blocks(Supplier<List<Pair>> next) {
            this.next = next;
        }

        @Override
        public boolean hasNext() {
            if (waiting.isEmpty() && !ended) {
                waiting.addAll(next.get());
                ended = waiting.isEmpty();
            }
            return !waiting.isEmpty();
        }

        @Override
        public Pair next() {
            if (!hasNext()) {
                throw new java.util.NoSuchElementException();
            }
            return waiting.remove();
        }
    }

    /** A position in a range of a sorted table, at first before its first pair and after its last. */
    public Cursor cursor(Range range) {
        return new Cursor(engine, engine.call("twindex_cursor", handle[0], range, Engine.NUMBERS, Answer::status));
    }

    /** Holds no lock, and stays valid whatever is written. */
    public static final class Cursor implements AutoCloseable {
        private final Engine engine;
        private final long[] handle;

        Cursor(Engine engine, int handle) {
            this.engine = engine;
            this.handle = new long[] {handle};
        }

        /** The next pair upwards, or null at the end. */
        public Pair scanAscNext() {
            return next("twindex_scan_asc_next");
        }

        /** The next pair downwards, or null at the end. */
        public Pair scanDescNext() {
            return next("twindex_scan_desc_next");
        }

        /** Up to so many pairs upwards. */
        public List<Pair> scanAscNextMany(int count) {
            return nextMany("twindex_scan_asc_next_many", count);
        }

        /** Up to so many pairs downwards. */
        public List<Pair> scanDescNextMany(int count) {
            return nextMany("twindex_scan_desc_next_many", count);
        }

        @Override
        public void close() {
            engine.call("twindex_close", handle, Engine.NONE, Engine.NUMBERS, Answer::status);
        }

        private Pair next(String name) {
            return engine.call(name, handle, Engine.NONE, Engine.NUMBERS,
                    answer -> answer.status() == 1 ? Engine.pairs(answer.bytes()).get(0) : null);
        }

        private List<Pair> nextMany(String name, int count) {
            return engine.call(name, handle, Engine.NONE, new long[] {count, Engine.ABSENT},
                    answer -> Engine.pairs(answer.bytes()));
        }
    }
}
