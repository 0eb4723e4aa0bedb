//! A folder to work in, the program run in it, and what it said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that goes away, with files by relative names.
pub(crate) struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    /// A random walk of `n` bars as `name`.
    pub(crate) fn bars(&self, name: &str, n: usize) -> &Self {
        let made = self.run(&format!("data synth random-walk --bars {n} --seed 3 --out {name}"));
        assert!(made.status.success(), "{}", shown(&made));
        self
    }

    /// The program, in this folder, with words split at blanks.
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gigabar"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIGABAR__")) {
            command.env_remove(name);
        }
        command.current_dir(self.dir.path()).args(words.split_whitespace()).env("NO_COLOR", "1").env("COLUMNS", "110");
        command
    }

    pub(crate) fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }
}

/// Exit code, then stdout, then stderr.
pub(crate) fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().map_or_else(|| "signal".to_owned(), |code| code.to_string());
    format!("exit {code}\n--- stdout\n{}--- stderr\n{}", text(&output.stdout), text(&output.stderr))
}

/// A file's bytes.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares with the stored snapshot, blanking what differs between machines and moments.
macro_rules! snapshot {
    ($name:expr, $text:expr) => {
        insta::with_settings!({
            filters => vec![
                (r"device: cpu, \d+ threads", "device: cpu, [n] threads"),
                (r"\b[0-9a-f]{64}\b", "[sha256]"),
                (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\x22, // now", "[now]"),
                (r"in \d+\.\d\d s, [\d.]+( [kMG])? a second", "in [time], [rate] a second"),
                (r"gigabar\.exe", "gigabar"),
            ],
            omit_expression => true,
            prepend_module_to_snapshot => false,
        }, { insta::assert_snapshot!($name, $text) });
    };
}
pub(crate) use snapshot;
