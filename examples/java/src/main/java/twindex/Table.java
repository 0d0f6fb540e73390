package twindex;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.function.Supplier;
import twindex.Engine.Answer;
import twindex.Engine.Pair;
import twindex.Range.Bound;

/** Pairs under one index. Verbs that write tell whether they took effect. */
public final class Table {
    /** How many bytes of pairs cross the border at once. */
    private static final long BLOCK = 1 << 16;

    private final Engine engine;
    private final int handle;

    Table(Engine engine, int handle) {
        this.engine = engine;
        this.handle = handle;
    }

    private boolean verb(String name, byte[]... bytes) {
        Object[] arguments = new Object[bytes.length + 1];
        arguments[0] = handle;
        System.arraycopy(bytes, 0, arguments, 1, bytes.length);
        return engine.call(name, arguments) == 1;
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
        return engine.call(
                "twindex_select", answer -> answer.status() == 1 ? answer.bytes() : null, handle, key);
    }

    /** Adds to a decimal number, which is 0 where the key is absent: the sum. */
    public long increment(byte[] key, long by) {
        return engine.call("twindex_increment", Answer::number, handle, key, by);
    }

    /** The number of pairs. */
    public long size() {
        return engine.call("twindex_len", Answer::number, handle);
    }

    /** The verb {@code insert}, {@code replace} or {@code upsert} for many pairs, with one call of the module. */
    public List<Boolean> writeMany(String verb, List<Pair> pairs) {
        Block block = new Block();
        pairs.forEach(pair -> block.item(pair.key(), pair.value()));
        return many(verb, block);
    }

    /** The verb {@code delete} or {@code contains} for many keys. */
    public List<Boolean> forMany(String verb, List<byte[]> keys) {
        return many(verb, packed(keys));
    }

    /** {@link #compareAndSwap} for many: a key, what is expected and the value each. */
    public List<Boolean> compareAndSwapMany(List<byte[][]> swaps) {
        Block block = new Block();
        swaps.forEach(block::item);
        return many("compare_and_swap", block);
    }

    private static Block packed(List<byte[]> keys) {
        Block block = new Block();
        keys.forEach(key -> block.item(new byte[][] {key}));
        return block;
    }

    private List<Boolean> many(String verb, Block block) {
        byte[] outcomes = engine.call("twindex_" + verb + "_many", Answer::bytes, handle, block.packed());
        List<Boolean> done = new ArrayList<>();
        for (byte outcome : outcomes) {
            done.add(outcome == 1);
        }
        return done;
    }

    /** The value of each key, or null where it is absent. */
    public List<byte[]> selectMany(List<byte[]> keys) {
        byte[] found = engine.call("twindex_select_many", Answer::bytes, handle, packed(keys).packed());
        List<byte[]> values = new ArrayList<>();
        for (Block block = new Block(found); block.hasMore(); ) {
            values.add(block.bytes(block.length()));
        }
        return values;
    }

    /** {@link #increment} for many keys, by as many amounts: the sums. */
    public List<Long> incrementMany(List<byte[]> keys, List<Long> amounts) {
        Block block = new Block();
        for (int at = 0; at < keys.size(); at++) {
            block.number(keys.get(at).length, 4).number(amounts.get(at), 8).bytes(keys.get(at));
        }
        byte[] answer = engine.call("twindex_increment_many", Answer::bytes, handle, block.packed());
        List<Long> sums = new ArrayList<>();
        for (Block rest = new Block(answer); rest.hasMore(); ) {
            sums.add(rest.number());
        }
        return sums;
    }

    /** The pairs of a range in the order of their keys, or in reverse. Sees what is written meanwhile. */
    public Iterable<Pair> scan(Range range, boolean reverse) {
        return () -> new Blocks(new Supplier<>() {
            private Bound from = range.from();
            private Bound to = range.to();

            @Override
            public List<Pair> get() {
                List<Pair> pairs = engine.call("twindex_scan", Answer::pairs,
                        handle, from.kind(), from.key(), to.kind(), to.key(), reverse ? 1 : 0, Engine.ABSENT, BLOCK);
                if (!pairs.isEmpty()) {
                    Bound last = Bound.excluding(pairs.get(pairs.size() - 1).key());
                    from = reverse ? from : last;
                    to = reverse ? last : to;
                }
                return pairs;
            }
        });
    }

    /** Every pair of a table, of either index. */
    public Iterable<Pair> all() {
        return () -> {
            int iterator = engine.call("twindex_iter", handle);
            return new Blocks(() -> {
                List<Pair> pairs = engine.call(
                        "twindex_iter_next_many", Answer::pairs, iterator, Engine.ABSENT, BLOCK);
                if (pairs.isEmpty()) {
                    engine.call("twindex_close", iterator);
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
        Bound from = range.from();
        Bound to = range.to();
        return new Cursor(
                engine, engine.call("twindex_cursor", handle, from.kind(), from.key(), to.kind(), to.key()));
    }

    /** Holds no lock, and stays valid whatever is written. */
    public static final class Cursor implements AutoCloseable {
        private final Engine engine;
        private final int handle;

        Cursor(Engine engine, int handle) {
            this.engine = engine;
            this.handle = handle;
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
            engine.call("twindex_close", handle);
        }

        private Pair next(String name) {
            return engine.call(
                    name, answer -> answer.status() == 1 ? answer.pairs().get(0) : null, handle);
        }

        private List<Pair> nextMany(String name, int count) {
            return engine.call(name, Answer::pairs, handle, count, Engine.ABSENT);
        }
    }
}
