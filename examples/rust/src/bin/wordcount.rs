//! Counts the words of a text with all processors and shows the most frequent ones.
//!
//! `cargo run --release -p twindex-examples --bin wordcount -- FILE`

use std::error::Error;
use std::thread;

use twindex::{IndexKind, Store, Table};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: wordcount FILE")?;
    let words = count(&std::fs::read_to_string(path)?, thread::available_parallelism()?.get())?;
    for (word, count) in most_frequent(&words, 20)? {
        println!("{count:>9}  {word}");
    }
    Ok(())
}

/// A table of every word, in lower case, with how often it comes. The threads share the table: a word
/// that two of them meet at the same moment is counted twice, as it should be.
fn count(text: &str, threads: usize) -> twindex::Result<Table> {
    let words = Store::new().table("words", IndexKind::Hash)?;
    let lines: Vec<&str> = text.lines().collect();
    thread::scope(|scope| {
        let counters: Vec<_> = lines
            .chunks(lines.len().div_ceil(threads).max(1))
            .map(|lines| scope.spawn(|| count_lines(lines, &words)))
            .collect();
        counters.into_iter().try_for_each(|counter| counter.join().expect("counting does not panic"))
    })?;
    Ok(words)
}

fn count_lines(lines: &[&str], words: &Table) -> twindex::Result<()> {
    for line in lines {
        let found = line.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        let amounts: Vec<(String, i64)> = found.map(|word| (word.to_lowercase(), 1)).collect();
        words.increment_many(&amounts)?;
    }
    Ok(())
}

/// The words that come most often, the ones that come equally often by the alphabet.
fn most_frequent(words: &Table, limit: usize) -> Result<Vec<(String, u64)>, Box<dyn Error>> {
    let mut counts = Vec::with_capacity(words.len());
    for (word, count) in words {
        let count: u64 = std::str::from_utf8(&count)?.parse()?;
        counts.push((String::from_utf8(word)?, count));
    }
    counts.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then(a.cmp(b)));
    counts.truncate(limit);
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_whatever_their_case() {
        let words = count("To be, or not to be:\nthat is the question.", 2).unwrap();
        let expected = [("be".to_owned(), 2), ("to".to_owned(), 2), ("is".to_owned(), 1)];
        assert_eq!(most_frequent(&words, 3).unwrap(), expected);
        assert_eq!(words.len(), 8);
    }

    #[test]
    fn threads_lose_no_word() {
        let text = "one two two\n".repeat(10_000);
        let words = count(&text, 4).unwrap();
        assert_eq!(
            most_frequent(&words, 9).unwrap(),
            [("two".to_owned(), 20_000), ("one".to_owned(), 10_000)]
        );
    }
}
