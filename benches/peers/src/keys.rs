//! The key sets, each in random order.

use std::fmt::Write;

use fastrand::Rng;
use twindex_benches::{KeyList, random_hex, words};

use crate::data::{Data, KeyKind};

/// Keys and orders are the same in every process.
pub(crate) fn rng() -> Rng {
    Rng::with_seed(64)
}

/// At most `count` keys: a file of words may have fewer.
pub(crate) fn keys(data: &Data, count: u32) -> KeyList {
    let rng = &mut rng();
    match data.key_kind {
        KeyKind::Hex => random_hex(count, data.key_bytes, rng).unwrap_or_else(|error| panic!("{error}")),
        KeyKind::Seq => numbered(&decimals(count, data.key_bytes).shuffled(rng)),
        KeyKind::Paths => numbered(&paths(count, rng).shuffled(rng)),
        KeyKind::Words => {
            let path = data.keys_from.as_ref().expect("the command line asks for it");
            let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            words(&text, count, rng).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        }
    }
}

/// The same keys with their positions as their numbers.
fn numbered(list: &KeyList) -> KeyList {
    (0..list.len()).map(|position| list.key(position)).collect()
}

fn decimals(count: u32, key_bytes: u16) -> KeyList {
    let width = usize::from(key_bytes);
    (0..count).map(|number| format!("{number:0width$}")).collect()
}

/// Some dozen folders at each of three to five levels, and the number in the file's name.
fn paths(count: u32, rng: &mut Rng) -> KeyList {
    const NAMES: [&str; 24] = [
        "assets",
        "backup",
        "blog",
        "build",
        "cache",
        "config",
        "data",
        "docs",
        "download",
        "export",
        "images",
        "include",
        "index",
        "lib",
        "logs",
        "media",
        "news",
        "photos",
        "public",
        "reports",
        "scripts",
        "shared",
        "templates",
        "users",
    ];
    const ENDS: [&str; 6] = ["html", "jpg", "json", "log", "md", "rs"];
    (0..count)
        .map(|number| {
            let mut path = String::from("/srv/www");
            for _ in 0..rng.u8(3..=5) {
                write!(path, "/{}", NAMES[rng.usize(..NAMES.len())]).expect("a string takes all");
            }
            write!(path, "/file-{number}.{}", ENDS[rng.usize(..ENDS.len())]).expect("a string takes all");
            path
        })
        .collect()
}
