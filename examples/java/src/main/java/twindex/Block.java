package twindex;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A packed block of items: the lengths of each, then its bytes. */
final class Block {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private final ByteBuffer rest;

    /** One to be written. */
    Block() {
        this(new byte[0]);
    }

    /** One to be read. */
    Block(byte[] block) {
        rest = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Appends an item, parts of which may be absent. */
    Block item(byte[]... parts) {
        for (byte[] part : parts) {
            number(part == null ? Engine.ABSENT : part.length, 4);
        }
        return bytes(parts);
    }

    /** Appends a number of so many bytes. */
    Block number(long number, int size) {
        for (int at = 0; at < size; at++) {
            written.write((int) (number >>> (8 * at)));
        }
        return this;
    }

    Block bytes(byte[]... parts) {
        for (byte[] part : parts) {
            written.writeBytes(part == null ? new byte[0] : part);
        }
        return this;
    }

    byte[] packed() {
        return written.toByteArray();
    }

    boolean hasMore() {
        return rest.hasRemaining();
    }

    int length() {
        return rest.getInt();
    }

    long number() {
        return rest.getLong();
    }

    /** So many bytes, or null where they are absent. */
    byte[] bytes(int length) {
        if (length == Engine.ABSENT) {
            return null;
        }
        byte[] bytes = new byte[length];
        rest.get(bytes);
        return bytes;
    }
}
