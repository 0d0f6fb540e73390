//! Measures. Rows are data (`benches/rows.txt`); a program of each host does one work with one system in a process of its own
//! and prints lines of JSON; `benches/show.py` shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::{Map, Value, json};

use crate::run::Log;
use crate::setup::{missing, output, require, require_wasm};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// The rows of every host and what shows them need these.
const TOOLS: [&str; 3] = ["cc", "python3", "node"];
/// The build of the published packages, as the figures name it.
const PUBLISHED: &str = "release with fat LTO, as published";
const ROWS: &str = include_str!("../../benches/rows.txt");

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// The rows; with a * at the end all that start so
    rows: Vec<String>,
    /// Shows the rows, as without any
    #[arg(long)]
    list: bool,
    /// How often each system does each row, in turns; medians are shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// These systems alone
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    systems: Vec<String>,
    /// Numbers of pairs, in place of the row's
    #[arg(long, value_name = "LIST")]
    pairs: Option<String>,
    /// Numbers of threads, in place of the row's
    #[arg(long, value_name = "LIST")]
    threads: Option<String>,
    /// Builds without link-time optimisation, in half the time
    #[arg(long)]
    fast: bool,
    /// Every row unless some are named, with few pairs: shows only that they work
    #[arg(long)]
    quick: bool,
    /// Runs each process under a command, such as 'valgrind --tool=callgrind' for counts of instructions
    #[arg(long, value_name = "COMMAND")]
    under: Option<String>,
    /// Where the lines of JSON are written [default: bench/records.jsonl in the build directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Shows what changed since the lines of an older run
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// More options of the programs, such as `--key-bytes 40`
    #[arg(last = true)]
    more: Vec<String>,
}

/// What measures, where, the command of what the last build made, and how it is built: the engine beside what std has, which is
/// quick to build; all peers; the packages; the module, called from outside for each pair; a program in WebAssembly with the engine in
/// it, under Python's wasmtime and in Node; clusters.
const HOSTS: &str = "
rust | . | {target}/{profile}/twindex-benches | cargo build --locked --release --package=twindex-benches
peers | . | {target}/{profile}/twindex-peers | CARGO_TARGET_DIR={target} cargo build --locked --release \
     --manifest-path=benches/peers/Cargo.toml
python | bindings/python | venv:python bench.py | {rivals} && {ours} .
node | bindings/node | node bench.mjs | npm ci && npm run build
wasm-node | wasm/npm | node bench.mjs | npm ci && npm run build
wasmtime | wasm/npm | cargo bench --quiet --profile wasmtime --package twindex-wasm --bench wasmtime -- | npm ci && \
     npm run build && cargo bench --no-run --profile wasmtime --package twindex-wasm --bench wasmtime
inside | wasm/benches | venv-wasm:python inside.py {guest} | {inside}
inside-node | wasm/benches | node inside.mjs {guest} | {inside}
cluster | . | {target}/{profile}/twindex-cluster-bench | cargo build --locked --release --package=twindex-cluster-bench
cluster-python | bindings/python-cluster | venv:python bench.py | {rivals} && {ours} ../python .
cluster-node | bindings/node-cluster | node bench.mjs | npm ci ../node && npm run build
";

/// What the words in braces stand for. Our Python packages are made by the tools of the environment.
const WORDS: [(&str, &str); 4] = [
    ("{guest}", "{target}/wasm32-unknown-unknown/release/twindex_bench_guest.wasm"),
    ("{inside}", GUEST),
    (
        "{rivals}",
        "venv:python -m pip install --constraint={root}/bindings/python/requirements-dev.txt cachebox cachetools lmdb maturin \
         redis sortedcontainers",
    ),
    ("{ours}", "venv:python -m pip install --no-build-isolation --no-deps"),
];

/// Builds the program for WebAssembly that measures inside, as the npm package's fast module is built, and installs what runs it.
pub(crate) const GUEST: &str = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='-Ctarget-feature=+simd128 -Cno-vectorize-loops \
     -Cno-vectorize-slp' cargo build --release --package=twindex-bench-guest --target=wasm32-unknown-unknown && \
     venv-wasm:python -m pip install wasmtime==50.0.1";

/// Where a host measures, by which program, and the lines that build it.
fn host(name: &str) -> Result<[String; 3]> {
    let mut rows = HOSTS.lines().map(|row| row.split(" | "));
    let found = rows.find_map(|mut row| (row.next()? == name).then(|| row.collect::<Vec<_>>()));
    let found = found.with_context(|| format!("there is no host {name}"))?;
    let fill = |at: usize| WORDS.iter().fold(found[at].to_owned(), |line, (word, by)| line.replace(word, by));
    Ok([0, 1, 2].map(fill))
}

fn program(name: &str, workspace: &Workspace, profile: &str) -> Result<Command> {
    if (name, profile) == ("wasmtime", "debug") {
        return Ok(workspace.command("", "cargo test {crates} --bench=wasmtime --"));
    }
    let [folder, program, _] = host(name)?;
    Ok(workspace.command(&folder, &program.replace("{profile}", profile)))
}

/// Sets up and builds what a host needs.
fn build(name: &str, workspace: &Workspace, is_fast: bool, steps: &mut Steps) -> Result<(), Failed> {
    let is_wasm = is_wasm(name);
    if is_wasm {
        steps.must("set up: Rust for WebAssembly", require_wasm)?;
    }
    steps.must(&format!("build: {name}"), |log| {
        let [folder, _, lines] = host(name)?;
        workspace.run(&folder, &lines, if is_fast && !is_wasm { &FAST } else { &[] }, log)
    })?;
    if ["node", "cluster-node", "wasm-node"].contains(&name) {
        // Rivals have native code of their own, and none is needed for the others.
        steps.rows(workspace, "set up: Node's rivals | bindings/node/bench | npm ci");
    }
    Ok(())
}

/// Whether the engine runs in WebAssembly there, whose modules are always built as they are published.
fn is_wasm(host: &str) -> bool {
    host.starts_with("wasm") || host.starts_with("inside")
}

/// Variables by which cargo builds a release without the link-time optimisation of what we publish, in half the time, at any depth.
pub(crate) const FAST: [(&str, &str); 2] =
    [("CARGO_PROFILE_RELEASE_LTO", "off"), ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")];

/// A line of `rows.txt`.
#[derive(Debug)]
struct Row {
    name: &'static str,
    about: &'static str,
    host: &'static str,
    words: Vec<&'static str>,
    systems: Vec<System>,
}

#[derive(Clone, Debug)]
struct System {
    host: &'static str,
    name: &'static str,
    /// Whether threads share it.
    is_shared: bool,
}

fn rows() -> Result<Vec<Row>> {
    let lines = ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| row(line).with_context(|| format!("benches/rows.txt: {line}"))).collect()
}

fn row(line: &'static str) -> Result<Row> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, about, host, work, systems] = fields[..] else { bail!("a row has five fields") };
    let system = |word: &'static str| {
        let (host, name) = word.split_once(':').unwrap_or((host, word));
        self::host(host)?;
        let shared = name.strip_suffix('*');
        Ok(System { host, name: shared.unwrap_or(name), is_shared: shared.is_some() })
    };
    let systems = systems.split_whitespace().map(system).collect::<Result<_>>()?;
    Ok(Row { name, about, host, words: work.split_whitespace().collect(), systems })
}

impl Row {
    /// All combinations of what stands in braces, with the caller's values in place of the row's.
    fn variants(&self, options: &Options) -> Vec<Vec<String>> {
        let mut variants = vec![Vec::new()];
        let mut last = "";
        for word in &self.words {
            let own = match last {
                "--pairs" => options.pairs.as_deref().or(options.quick.then_some("1000")),
                "--threads" => options.threads.as_deref().or(options.quick.then_some("1,2")),
                _ => None,
            };
            let braces = word.strip_prefix('{').and_then(|word| word.strip_suffix('}'));
            let choices = own.or(braces.filter(|inside| *inside != "keys")).unwrap_or(word);
            let with = |choice: &str| {
                variants
                    .iter()
                    .map(|words| [words.as_slice(), &[choice.to_owned()]].concat())
                    .collect::<Vec<_>>()
            };
            variants = choices.split(',').flat_map(with).collect();
            last = word;
        }
        if options.quick && variants.len() > 4 {
            variants.truncate(4);
        }
        variants
    }
}

/// The options of a command line, with their values.
fn params(words: &[String]) -> BTreeMap<String, String> {
    let pairs = words.iter().zip(words.iter().skip(1));
    pairs
        .filter(|(name, value)| {
            name.starts_with("--") && name.as_str() != "--keys" || value.as_str() == "paths"
        })
        .map(|(name, value)| (name.trim_start_matches('-').to_owned(), value.clone()))
        .collect()
}

fn has_name(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

/// What measures, where to, and how it was built.
struct Bench<'b> {
    workspace: &'b Workspace,
    profile: &'static str,
    build: &'static str,
    out: PathBuf,
    options: &'b Options,
}

impl Bench<'_> {
    fn begin(&self, words: &str) -> Result<()> {
        let folder = self.out.parent().context("a file lies in a folder")?;
        std::fs::create_dir_all(folder)?;
        let commit = output("git", &["describe", "--always", "--dirty"]).unwrap_or_default();
        let rustc = output("rustc", &["--version"]).unwrap_or_default();
        let (commit, rustc) = (commit.trim(), rustc.trim());
        let run = json!({ "run": words, "commit": commit, "rustc": rustc, "build": self.build });
        std::fs::write(&self.out, format!("{run}\n"))
            .with_context(|| format!("writing {}", self.out.display()))
    }

    /// All systems in turn, as often as is wanted, with every variant.
    fn row(&self, row: &Row, log: &mut Log) -> Result<usize> {
        let mut count = 0;
        for words in row.variants(self.options) {
            let params = params(&words);
            let threads = params.get("threads").map_or("1", String::as_str);
            for round in 0..self.options.rounds {
                for system in row.systems.iter().filter(|system| system.is_shared || threads == "1") {
                    let wanted = &self.options.systems;
                    if !wanted.is_empty() && !wanted.iter().any(|wanted| has_name(wanted, system.name)) {
                        continue;
                    }
                    if system.name.starts_with("redis") && missing("redis-server").is_some() {
                        continue;
                    }
                    count += self.measure(row, system, &words, round, log)?;
                }
            }
        }
        Ok(count)
    }

    /// Writes what one process prints; how many figures.
    fn measure(
        &self,
        row: &Row,
        system: &System,
        words: &[String],
        round: u16,
        log: &mut Log,
    ) -> Result<usize> {
        let mut program = program(system.host, self.workspace, self.profile)?;
        if let Some(under) = &self.options.under {
            let mut command = self.workspace.command("", under);
            command.arg(program.get_program()).args(program.get_args());
            program = command;
        }
        let params = params(words);
        let mut words = words.to_vec();
        let is_script = !["rust", "peers", "wasmtime"].contains(&system.host);
        if is_script && words[0] == "fill" {
            // Scripts know the work by its index.
            words[0] = "hash".into();
            if words.get(1).is_some_and(|word| word == "--index") {
                words.drain(..2);
            }
        }
        let keys = words.iter().position(|word| word == "{keys}");
        if let Some(at) = keys {
            words[at] = self.keys(&params["pairs"], log)?;
        }
        program.args(words).args(["--system", system.name]).args(&self.options.more);
        let printed = log.read(&mut program)?;
        let records = printed.lines().map(serde_json::from_str).collect::<Result<Vec<Map<_, _>>, _>>();
        let records = records.with_context(|| format!("{} printed {printed}", system.name))?;
        let mut out = std::fs::OpenOptions::new().append(true).open(&self.out)?;
        let count = records.len();
        for mut record in records {
            let is_sound = record["value"].as_f64().is_some_and(|value| value >= 0.0)
                && ["system", "figure", "unit"].iter().all(|field| record[*field].is_string());
            ensure!(is_sound, "{}: {} printed an unsound record: {record:?}", row.name, system.name);
            let mut all = json!(params);
            if let (Some(all), Some(own)) = (all.as_object_mut(), record["params"].as_object_mut()) {
                all.append(own);
            }
            let host = system.host;
            let build = if is_wasm(host) && self.profile == "release" { PUBLISHED } else { self.build };
            let more = json!({ "row": row.name, "about": row.about, "host": host, "round": round, "build": build,
                "params": all });
            record.extend(more.as_object().cloned().unwrap_or_default());
            writeln!(out, "{}", Value::Object(record))?;
        }
        Ok(count)
    }

    /// The file of so many keys, which all hosts read.
    fn keys(&self, pairs: &str, log: &mut Log) -> Result<String> {
        let file = self.workspace.target(&format!("bench/keys-{pairs}.txt"));
        if !file.exists() {
            std::fs::create_dir_all(self.workspace.target("bench"))?;
            let mut rust = program("rust", self.workspace, self.profile)?;
            log.run(rust.args(["keys", "--pairs", pairs, "--file"]).arg(&file))?;
        }
        Ok(file.to_string_lossy().into_owned())
    }

    /// Has the script show what was measured.
    fn show(&self, more: &[&str]) -> Result<()> {
        let mut show = self.workspace.command("", "python3 benches/show.py");
        show.arg(&self.out).args(more);
        if let Some(older) = &self.options.against {
            show.arg("--against").arg(std::path::absolute(older)?);
        }
        ensure!(show.status()?.success(), "benches/show.py failed");
        Ok(())
    }
}

/// `cargo xtask bench`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let all = rows()?;
    let patterns = &options.rows;
    if options.list || (patterns.is_empty() && !options.quick) {
        println!("Rows (benches/rows.txt has their options); `cargo xtask bench ROW...` measures them:\n");
        for Row { name, about, systems, .. } in &all {
            let systems: Vec<_> = systems.iter().map(|system| system.name).collect();
            println!("{name}: {about}\n    {}", systems.join(" "));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = patterns.iter().find(|pattern| !all.iter().any(|row| has_name(pattern, row.name)))
    {
        bail!("there is no row {unknown}: --list shows them");
    }
    let mut options = options.clone();
    if options.quick {
        (options.fast, options.rounds) = (true, 1);
    }
    let is_asked_for = |row: &&Row| {
        let is_named = patterns.iter().any(|pattern| has_name(pattern, row.name));
        // Clusters take servers and a minute each.
        is_named || (patterns.is_empty() && !row.name.starts_with("cluster"))
    };
    let rows: Vec<Row> = all.into_iter().filter(|row| is_asked_for(&row)).collect();
    measure(&options, &rows, false)
}

/// `cargo xtask demo`: every host beside what its programs use today, what is quickest to build first.
pub(crate) fn demo(options: &Options) -> Result<ExitCode> {
    require(&TOOLS)?;
    println!("All is built as it is published, Rust first: its figures come in minutes, WebAssembly's last.");
    let mut all = rows()?;
    let mut rows = Vec::new();
    for host in ["rust", "python", "node", "wasm_node", "wasm"] {
        for index in ["hash", "sorted"] {
            rows.extend(all.extract_if(.., |row| row.name == format!("{host}_{index}")));
        }
    }
    measure(options, &rows, true)
}

fn measure(options: &Options, rows: &[Row], is_demo: bool) -> Result<ExitCode> {
    require(&TOOLS)?;
    let workspace = Workspace::find()?;
    let folder = workspace.target(if is_demo { "report" } else { "bench" });
    let out = std::path::absolute(options.out.clone().unwrap_or_else(|| folder.join("records.jsonl")))?;
    let how = if options.fast { "release without LTO" } else { PUBLISHED };
    let bench = Bench { workspace: &workspace, profile: "release", build: how, out, options };
    let words: Vec<String> = std::env::args().skip(1).collect();
    bench.begin(&format!("cargo xtask {}", words.join(" ")))?;
    let mut steps = Steps::new();
    let (mut begun, mut failed) = (BTreeSet::new(), BTreeSet::new());
    let mut is_measured = false;
    for row in rows {
        // The first writes the keys that the others read.
        let hosts = row.systems.iter().map(|system| system.host);
        for host in std::iter::once("rust").chain(hosts).filter(|host| *host != "rust" || needs_rust(row)) {
            if begun.insert(host) && build(host, &workspace, options.fast, &mut steps).is_err() {
                failed.insert(host);
            }
        }
        if row.systems.iter().any(|system| failed.contains(&system.host)) {
            println!("{} is left out.", row.name);
            continue;
        }
        let result = steps.must(&format!("measure: {}", row.name), |log| {
            let count = bench.row(row, log)?;
            ensure!(count > 0, "no system of the row was asked for");
            Ok(())
        });
        is_measured |= result.is_ok();
        if is_demo && result.is_ok() && row.name.ends_with("sorted") {
            bench.show(&["--brief"])?;
        }
    }
    if is_measured {
        let page = folder.join("index.html");
        let (page, pictures) = (page.to_string_lossy(), folder.to_string_lossy());
        let drawn = ["--page", &page, "--pictures", &pictures];
        bench.show(if is_demo { &drawn } else { &[] })?;
        println!("The lines of JSON: {}", bench.out.display());
    }
    Ok(if is_measured && steps.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether a row is measured by the program that also writes keys, or reads a file of them.
fn needs_rust(row: &Row) -> bool {
    row.words.contains(&"{keys}") || row.systems.iter().any(|system| system.host == "rust")
}

/// In the suite: a host's rows over few pairs, with what is built, to show that its scripts work. Only ours take part: rivals
/// are not installed everywhere.
pub(crate) fn smoke(room: &str, host: &str, workspace: &Workspace, steps: &mut Steps) {
    steps.check(&format!("{room}: bench of {host} at 1,000 pairs"), |log| {
        let options =
            Options { quick: true, rounds: 1, systems: vec!["twindex".into()], ..Options::default() };
        let folder = workspace.empty_folder(&format!("smoke/{host}"))?;
        let out = folder.join("records.jsonl");
        let bench = Bench { workspace, profile: "debug", build: "debug", out, options: &options };
        bench.begin("smoke")?;
        for mut row in rows()?.into_iter().filter(|row| row.host == host) {
            row.systems.retain(|system| system.host == host);
            // Scripts make keys of their own.
            let keys = row.words.iter().position(|word| *word == "--keys");
            keys.map(|at| row.words.drain(at..at + 2).count());
            ensure!(bench.row(&row, log)? > 0, "{} measured nothing", row.name);
        }
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_named_once_and_begins_with_twindex() {
        let rows = rows().unwrap();
        let names: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), rows.len());
        for row in &rows {
            assert!(row.systems[0].name.starts_with("twindex"), "{}: {:?}", row.name, row.systems);
            assert!(
                !row.about.is_empty() && row.words[0].chars().all(|c| c.is_ascii_lowercase() || c == '-')
            );
        }
        assert!(row("a | b | nowhere | fill | twindex").unwrap_err().to_string().contains("nowhere"));
    }

    #[test]
    fn braces_are_all_combinations_and_options_take_their_place() {
        let row = row("a | b | peers | fill --keys {keys} --pairs 7 --threads {1,2} --each {3,4} | twindex*")
            .unwrap();
        let variants =
            |options: &Options| row.variants(options).iter().map(|words| words.join(" ")).collect::<Vec<_>>();
        let all = variants(&Options::default());
        assert_eq!(all.len(), 4);
        assert!(all.contains(&"fill --keys {keys} --pairs 7 --threads 2 --each 3".to_owned()), "{all:?}");
        let options = Options { pairs: Some("8,9".into()), threads: Some("1".into()), ..Options::default() };
        let all = variants(&options);
        assert!(all.len() == 4 && all.iter().all(|line| line.contains("--threads 1")), "{all:?}");
        let given = params(&row.variants(&options)[0]);
        assert_eq!(given.keys().collect::<Vec<_>>(), ["each", "pairs", "threads"]);
        assert!(has_name("hash*", "hash_cold") && has_name("hash", "hash") && !has_name("hash", "hash_cold"));
    }

    /// The pictures of the README and the page of the demo come from the same lines.
    #[test]
    fn the_script_shows_tables_a_page_and_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        let mut lines = format!("{}\n", json!({ "run": "<run>", "commit": "c", "rustc": "r", "build": "b" }));
        for (system, value) in [("twindex", 30.0), ("dict", 20.0)] {
            for (figure, unit) in [("insert", "/s"), ("select", "/s"), ("bytes", "bytes")] {
                for round in 0..2 {
                    let record = json!({ "row": "python_hash", "about": "a", "host": "python", "system": system, "build": "b",
                        "figure": figure, "unit": unit, "value": value, "round": round, "params": { "threads": "1" } });
                    lines = lines + &record.to_string() + "\n";
                }
            }
        }
        std::fs::write(&path, lines).unwrap();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/show.py");
        let mut show = Command::new("python3");
        show.arg(script).arg(&path).arg("--against").arg(&path);
        show.arg("--page").arg(folder.path().join("index.html")).arg("--pictures").arg(folder.path());
        let output = show.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("1.50x") && text.contains("0.67x"), "{text}");
        let page = std::fs::read_to_string(folder.path().join("index.html")).unwrap();
        assert!(
            page.contains("&lt;run&gt;") && !page.contains("<script") && !page.contains("src="),
            "{page}"
        );
        for name in ["measured.svg", "measured-dark.svg"] {
            let picture = std::fs::read_to_string(folder.path().join(name)).unwrap();
            assert!(picture.matches("<rect").count() == 3 && picture.contains("1.5x"), "{picture}");
        }
    }
}
