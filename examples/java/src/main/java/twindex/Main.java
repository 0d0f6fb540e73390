package twindex;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import twindex.Engine.Pair;

/** A first program over Twindex. With {@code dump FILE} it shows what is in a dump, with {@code bench PAIRS} it measures. */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws IOException {
        String module = System.getProperty("twindex.module", "../../wasm/npm/twindex.wasm");
        Engine engine = new Engine(Files.readAllBytes(Path.of(module)), new SecureRandom().nextLong());
        switch (arguments.length == 2 ? arguments[0] : "") {
            case "dump" -> show(engine.load(Files.readAllBytes(Path.of(arguments[1])), Engine.NO_LIMIT));
            case "bench" -> Bench.run(engine, Integer.parseInt(arguments[1]));
            default -> first(engine);
        }
    }

    private static void first(Engine engine) {
        try (Store store = engine.newStore(Engine.NO_LIMIT)) {
            Table users = store.table("users", "hash");
            users.insert(Engine.bytes("ada"), Engine.bytes("1815"));
            System.out.println("ada " + Engine.text(users.select(Engine.bytes("ada"))));
            Table log = store.table("log", "sorted");
            for (String day : new String[] {"2026-11-02", "2026-11-01", "2025-12-31"}) {
                log.upsert(Engine.bytes(day), Engine.bytes("x"));
            }
            for (Pair pair : log.scan(Range.prefix(Engine.bytes("2026-")), false)) {
                System.out.println(Engine.text(pair.key()) + " " + Engine.text(pair.value()));
            }
        }
    }

    private static void show(Store store) {
        for (Pair each : store.tables()) {
            String name = Engine.text(each.key());
            String index = Engine.text(each.value());
            System.out.println(name + ": " + index + ", " + store.table(name, index).size() + " pairs");
        }
    }
}
