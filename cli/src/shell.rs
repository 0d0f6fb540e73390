//! `twindex shell`: commands one after another, with completion and a history.

use std::borrow::Cow;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use twindex_durable::Store;
use twindex_durable::twindex::IndexKind;

use crate::commands::{Done, open, read};
use crate::outcome::{FAILED, Failure, OK, say, tell};
use crate::pairs::{self, Delete, Get, Scan, Set};

/// A line of the shell.
#[derive(Parser)]
#[command(
    name = "",
    no_binary_name = true,
    disable_help_flag = true,
    disable_version_flag = true,
    about = "Words are separated by spaces; quotes keep a word together, as in get users \"ada lovelace\"",
    help_template = "{about}\n\n{subcommands}"
)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists the tables
    Tables,
    /// Prints a value: get TABLE KEY
    #[command(visible_alias = "select")]
    Get(Get),
    /// Prints pairs: scan TABLE, with --prefix, --gte, --gt, --lte, --lt, --reverse, --limit
    Scan(Scan),
    /// Writes a pair: set TABLE KEY VALUE; --index hash or sorted creates the table
    #[command(visible_alias = "upsert")]
    Set(Set),
    /// Writes a pair; fails if the key is present: insert TABLE KEY VALUE
    Insert(Set),
    /// Deletes a pair: delete TABLE KEY
    Delete(Delete),
    /// Ends the shell
    #[command(visible_alias = "quit")]
    Exit,
}

const COMMANDS: [&str; 8] = ["tables", "get", "scan", "set", "insert", "delete", "help", "exit"];

/// How many keys are offered to choose from.
const KEYS: usize = 50;

pub(crate) fn run(path: &Path, limit: Option<usize>, write: bool) -> Done {
    let store = if write { open(path, limit, false)? } else { read(path, limit)? };
    let code = if io::stdin().is_terminal() { by_hand(path, &store)? } else { from_program(&store)? };
    store.close()?;
    Ok(code)
}

/// Reads lines at a prompt. What fails is said, and the next line may do better.
fn by_hand(path: &Path, store: &Store) -> Done {
    let failed = |error: ReadlineError| Failure::Other(format!("the terminal: {error}"));
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
    let mut editor = Editor::<Words, FileHistory>::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Words { store: store.clone() }));
    let history = history();
    if let Some(history) = &history {
        // There is none before the first time.
        let _ = editor.load_history(history);
    }
    let access = if store.is_read_only() { "read only" } else { "writing" };
    let file = path.display();
    say(format_args!("{file} ({access}). `help` lists the commands, Tab completes, Ctrl-D ends."))?;
    let name = path.file_name().map_or(Cow::Borrowed("twindex"), |name| name.to_string_lossy());
    let prompt = format!("{}> ", name.escape_debug());
    loop {
        match editor.readline(&prompt) {
            Ok(line) if execute(store, &line).is_some() => {}
            Err(ReadlineError::Interrupted) => {}
            Ok(_) | Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        }
    }
    if let Some(history) = history {
        let kept = history.parent().map(std::fs::create_dir_all).transpose();
        if kept.is_err() || editor.save_history(&history).is_err() {
            tell(&format!("the history could not be saved in {}", history.display()));
        }
    }
    Ok(OK)
}

/// Reads lines from a program, and fails where one of them failed.
fn from_program(store: &Store) -> Done {
    let mut code = OK;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| Failure::Other(format!("the standard input: {error}")))?;
        match execute(store, &line) {
            Some(OK) => {}
            Some(failed) => code = failed,
            None => break,
        }
    }
    Ok(code)
}

/// Does what a line says: its exit code, or none where it ends the shell.
fn execute(store: &Store, line: &str) -> Option<u8> {
    let words = match split(line) {
        Ok(words) => words,
        Err(what) => {
            tell(what);
            return Some(FAILED);
        }
    };
    if words.is_empty() {
        return Some(OK);
    }
    let command = match Line::try_parse_from(words) {
        Ok(line) => line.command,
        Err(error) => {
            let _ = error.print();
            return Some(if error.use_stderr() { FAILED } else { OK });
        }
    };
    if store.is_read_only()
        && let Err(error) = store.refresh()
    {
        tell(&format!("the file could not be read again, so this is its earlier content: {error}"));
    }
    let done = match command {
        Command::Tables => tables(store),
        Command::Get(get) => pairs::get(store, &get),
        Command::Scan(scan) => pairs::scan(store, &scan),
        Command::Set(_) | Command::Insert(_) | Command::Delete(_) if store.is_read_only() => {
            Err(Failure::Other(
                "the file was opened read-only: `twindex shell --write` opens it for writing".into(),
            ))
        }
        Command::Set(set) => pairs::set(store, &set),
        Command::Insert(set) => pairs::insert(store, &set),
        Command::Delete(delete) => pairs::delete(store, &delete),
        Command::Exit => return None,
    };
    Some(done.unwrap_or_else(Failure::report))
}

fn tables(store: &Store) -> Done {
    for table in store.tables()? {
        let (keys, values) = table.codecs();
        let (keys, values) = (keys.escape_debug(), values.escape_debug());
        let (name, index, pairs) = (table.name().escape_debug(), table.index(), table.len());
        say(format_args!("{name}\t{index}\t{keys}\t{values}\t{pairs} pairs"))?;
    }
    Ok(OK)
}

fn history() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("LOCALAPPDATA"))
        .or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(folder.join("twindex/history"))
}

/// The words of a line. Single quotes keep what is in them as it is; in double quotes, and outside of any, a backslash keeps
/// the next character.
fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == character => quote = None,
            (None | Some('"'), '\\') => {
                let kept = characters.next().ok_or("the line ends with a backslash")?;
                word.get_or_insert_default().push(kept);
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

/// A word as it has to be written.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_.:/@+,=".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Completes the words of a line: a command, a table, and the keys of a sorted table.
struct Words {
    store: Store,
}

impl Completer for Words {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(&line[..position]))
    }
}

impl Words {
    /// Where the word that is being written begins, and what it may become.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind([' ', '\t']).map_or(0, |space| space + 1);
        let (before, started) = line.split_at(start);
        let Ok(before) = split(before) else { return (start, Vec::new()) };
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let found = match before[..] {
            [] => COMMANDS.iter().map(|command| (*command).to_owned()).collect(),
            ["get" | "scan" | "set" | "delete", ..] if started.starts_with("--") => options(before[0]),
            ["get" | "scan" | "set" | "delete"] => self.tables(),
            ["get" | "set" | "delete", table]
            | ["scan", table, .., "--prefix" | "--gte" | "--gt" | "--lte" | "--lt"] => {
                self.keys(table, started)
            }
            _ => Vec::new(),
        };
        // The editor shows the words as they are, so that one with control characters would move the cursor.
        let found = found.into_iter().filter(|word| !word.contains(char::is_control));
        let found = found.map(|word| quoted(&word)).filter(|word| word.starts_with(started));
        let mut found: Vec<String> = found.collect();
        if let [only] = &mut found[..] {
            // On with the next word.
            only.push(' ');
        }
        (start, found)
    }

    fn tables(&self) -> Vec<String> {
        let tables = self.store.tables().unwrap_or_default();
        tables.iter().map(|table| table.name().to_owned()).collect()
    }

    /// The first keys that start with what was written.
    fn keys(&self, table: &str, started: &str) -> Vec<String> {
        let Ok(Some(table)) = self.store.find_table(table) else { return Vec::new() };
        if table.index() != IndexKind::Sorted || table.codecs().0 != "str" {
            return Vec::new();
        }
        let Ok(found) = table.prefix(started.trim_start_matches('\'')) else { return Vec::new() };
        found.take(KEYS).filter_map(|(key, _)| String::from_utf8(key).ok()).collect()
    }
}

fn options(command: &str) -> Vec<String> {
    let mut line = <Line as clap::CommandFactory>::command();
    let Some(command) = line.find_subcommand_mut(command) else { return Vec::new() };
    command.get_arguments().filter_map(|argument| Some(format!("--{}", argument.get_long()?))).collect()
}

impl Helper for Words {}
impl Highlighter for Words {}
impl Validator for Words {}

impl Hinter for Words {
    type Hint = String;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_shells_split_them() {
        let split = |line| split(line).unwrap();
        assert_eq!(split("  get users\tada "), ["get", "users", "ada"]);
        assert_eq!(split(r#"a "b c" 'd "e' f\ g '' "\"""#), ["a", "b c", "d \"e", "f g", "", "\""]);
        assert_eq!(super::split("'a"), Err("a quote is not closed"));
        assert_eq!(super::split("a\\"), Err("the line ends with a backslash"));
    }

    #[test]
    fn what_is_quoted_is_one_word_again() {
        for word in ["", "ada", "a b", "it's", "\"", "\\", "é-1"] {
            assert_eq!(split(&quoted(word)).unwrap(), [word]);
        }
    }

    #[test]
    fn commands_tables_keys_and_options_are_completed() {
        let store = Store::new();
        store.table("users", IndexKind::Hash).unwrap();
        let options = twindex_durable::twindex::TableOptions::new(IndexKind::Sorted).keys("str");
        let log = store.table_with("log 2", options).unwrap();
        log.insert_many(&[("2026-11-01", ""), ("2026-11-02", ""), ("2025", ""), ("2026 x", "")]).unwrap();
        let words = Words { store };
        let complete = |line| words.candidates(line);
        assert_eq!(complete("s"), (0, vec!["scan".into(), "set".into()]));
        assert_eq!(complete("get u"), (4, vec!["users ".into()]));
        assert_eq!(complete("get "), (4, vec!["'log 2'".into(), "users".into()]));
        assert_eq!(complete("get 'log 2' 2026-"), (12, vec!["2026-11-01".into(), "2026-11-02".into()]));
        assert_eq!(complete("scan 'log 2' --pre"), (13, vec!["--prefix ".into()]));
        assert_eq!(complete("get users a").1, Vec::<String>::new());
        assert_eq!(complete("get 'log"), (4, vec!["'log 2' ".into()]));
    }
}
