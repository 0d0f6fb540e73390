package twindex;

/** A part of a sorted table. */
public record Range(Bound from, Bound to) {
    /** The whole table. */
    public static final Range ALL = new Range(Bound.NONE, Bound.NONE);

    /** All keys that start so. */
    public static Range prefix(byte[] prefix) {
        return new Range(Bound.prefix(prefix), Bound.prefix(prefix));
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
}
