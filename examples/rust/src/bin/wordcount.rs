//! Counts the words of a text with all processors and shows the most frequent ones.
//!
//! `cargo run --release -p twindex-examples --bin wordcount -- FILE`

use std::error::Error;
use std::thread;

use twindex_durable::twindex::IndexKind;
use twindex_durable::{Result, Store, TypedTable};

type Words = TypedTable<String, i64>;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: wordcount FILE")?;
    let words = count(&std::fs::read_to_string(path)?, thread::available_parallelism()?.get())?;
    for (word, count) in most_frequent(&words, 20)? {
        println!("{count:>9}  {word}");
    }
    Ok(())
}

/// A table of every word, in lower case, with how often it comes. The threads share the table and lose no word.
fn count(text: &str, threads: usize) -> Result<Words> {
    let words = Store::new().typed("words", IndexKind::Hash)?;
    let lines: Vec<&str> = text.lines().collect();
    thread::scope(|scope| {
        let parts = lines.chunks(lines.len().div_ceil(threads).max(1));
        let counters: Vec<_> = parts.map(|lines| scope.spawn(|| count_lines(lines, &words))).collect();
        counters.into_iter().try_for_each(|counter| counter.join().expect("counting does not panic"))
    })?;
    Ok(words)
}

fn count_lines(lines: &[&str], words: &Words) -> Result<()> {
    let found = lines.iter().flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric()));
    found
        .filter(|word| !word.is_empty())
        .try_for_each(|word| words.increment(&word.to_lowercase(), 1).map(drop))
}

/// The words that come most often; those that come equally often by the alphabet.
fn most_frequent(words: &Words, limit: usize) -> Result<Vec<(String, i64)>> {
    let mut counts = words.iter()?.collect::<Result<Vec<_>>>()?;
    counts.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
    counts.truncate(limit);
    Ok(counts)
}

#[test]
fn words_are_counted_whatever_their_case_and_by_any_number_of_threads() {
    let words = count(&"To be, or not to be:\nthat is the question.\n".repeat(5000), 4).unwrap();
    let expected = [("be".to_owned(), 10_000), ("to".to_owned(), 10_000), ("is".to_owned(), 5000)];
    assert_eq!(most_frequent(&words, 3).unwrap(), expected);
    assert_eq!(words.len(), 8);
}
