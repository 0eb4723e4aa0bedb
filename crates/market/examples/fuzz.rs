//! Mutates files of bars and loads them, for as long as it is told: `fuzz TARGET SEED SECONDS [SEED_FILE…]`.
//!
//! Targets: `text`, `gzip`, `zstd`, `zip` (broken containers, and whole ones around broken text), `parquet`, `dbn`. A
//! case that panics, takes longer than ten seconds, or loads bars that break the rules of bars ends the program with
//! code 1 and lies in `TARGET-SEED-NUMBER.case` of the working folder; the first of which the loader caught the panic
//! of a decoder, in one that ends in `.caught`. Memory is for the caller to limit (`scripts/fuzz` does).

use std::io::Write;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gigabar_market::Bars;
use gigabar_market::check::check;
use gigabar_market::load::{LoadOptions, load};
use gigabar_market::rng::Philox;

/// Panics, of which those that reach this program end it.
static CAUGHT: AtomicU64 = AtomicU64::new(0);
/// Longest a case may take; the largest seed files load in a hundredth of a second.
const SLOW: Duration = Duration::from_secs(10);
/// Larger seed files are cut: mutations of small ones reach more.
const MAX_SEED: usize = 64 << 10;
/// Pieces that mean something to one of the parsers.
const WORDS: [&[u8]; 28] = [
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\"",
    b"0",
    b"-",
    b"e308",
    b"nan",
    b"inf",
    b"2024-01-01",
    b"23:59:60",
    b"20240310 023000",
    b"1e-8",
    b"99999999999999999999",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"PAR1",
    b"DBN\x03",
    b"\x28\xb5\x2f\xfd",
    b"\x1f\x8b",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [target, seed, seconds, files @ ..] = args.as_slice() else { return usage() };
    let (Ok(seed), Ok(seconds)) = (seed.parse::<u64>(), seconds.parse::<u64>()) else { return usage() };
    let seeds: Vec<Vec<u8>> = files.iter().filter_map(|f| std::fs::read(f).ok()).collect();
    if seeds.is_empty() {
        return usage();
    }
    // Panics inside a decoder that the loader catches are the loader's answer, and no news.
    std::panic::set_hook(Box::new(|_| {
        CAUGHT.fetch_add(1, Ordering::Relaxed);
    }));
    let path = PathBuf::from(format!("{target}-{seed}.case"));
    let (mut cases, mut loaded, mut slowest) = (0u64, 0u64, Duration::ZERO);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(seconds) {
        let mut rng = Philox::new(seed, cases);
        let bytes = case(target, &seeds, &mut rng);
        if std::fs::write(&path, &bytes).is_err() {
            eprintln!("{}: cannot be written", path.display());
            return ExitCode::from(2);
        }
        let (start, caught) = (Instant::now(), CAUGHT.load(Ordering::Relaxed));
        let verdict = catch_unwind(|| judge(&path, seed ^ cases));
        let took = start.elapsed();
        slowest = slowest.max(took);
        if caught == 0 && CAUGHT.load(Ordering::Relaxed) > 0 {
            // A sample for whoever mends the decoder; a copy that fails is missed by nobody.
            let _ = std::fs::copy(&path, format!("{target}-{seed}-{cases}.caught"));
        }
        let failure = match verdict {
            Err(_) => Some("panics".to_owned()),
            Ok(Err(what)) => Some(what),
            Ok(Ok(_)) if took > SLOW => Some(format!("takes {took:?}")),
            Ok(Ok(loads)) => {
                loaded += u64::from(loads);
                None
            }
        };
        if let Some(what) = failure {
            let kept = format!("{target}-{seed}-{cases}.case");
            let copied = std::fs::copy(&path, &kept).is_ok();
            eprintln!(
                "{target}: case {cases} of seed {seed} {what}{}",
                if copied { format!(": {kept}") } else { String::new() }
            );
            return ExitCode::FAILURE;
        }
        cases += 1;
    }
    let caught = CAUGHT.load(Ordering::Relaxed);
    println!(
        "{target}: seed {seed}, {cases} cases in {seconds} s, {loaded} loaded, {caught} panics of decoders caught, \
         the slowest {slowest:?}"
    );
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("fuzz text|gzip|zstd|zip|parquet|dbn SEED SECONDS SEED_FILE…");
    ExitCode::from(2)
}

/// A file to be loaded.
fn case(target: &str, seeds: &[Vec<u8>], rng: &mut Philox) -> Vec<u8> {
    let mut seed = seeds[rng.index(seeds.len())].clone();
    seed.truncate(if matches!(target, "parquet" | "dbn") { usize::MAX } else { MAX_SEED });
    let whole_around_broken = rng.index(2) == 0;
    let seed_is_zip = seed.starts_with(b"PK");
    let packed = |bytes: &[u8]| match target {
        "gzip" => {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(bytes).and_then(|()| gz.finish()).unwrap_or_default()
        }
        "zstd" => zstd::encode_all(bytes, 1).unwrap_or_default(),
        "zip" if !seed_is_zip => archive(bytes).unwrap_or_default(),
        _ => bytes.to_vec(),
    };
    if whole_around_broken { packed(&mutated(seed, seeds, rng)) } else { mutated(packed(&seed), seeds, rng) }
}

/// Text as one member, or its halves as two; by their names bars of LEAN's, in every third archive.
fn archive(text: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let names =
        if text.len().is_multiple_of(3) { ["20240115_x_minute_trade.csv", "a.csv"] } else { ["b.csv", "c.csv"] };
    let cut = if text.len().is_multiple_of(2) { text.len() } else { text.len() / 2 };
    for (name, part) in names.iter().zip([&text[..cut], &text[cut..]]).filter(|(_, part)| !part.is_empty()) {
        zip.start_file(*name, zip::write::SimpleFileOptions::default())?;
        zip.write_all(part)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// One to thirty-two changes: bits, bytes, pieces of this and of other seeds, words, lengths.
fn mutated(mut bytes: Vec<u8>, seeds: &[Vec<u8>], rng: &mut Philox) -> Vec<u8> {
    for _ in 0..1usize << rng.index(6) {
        let n = bytes.len();
        let at = rng.index(n + 1);
        let most = 1 << rng.index(10);
        let end = (at + 1 + rng.index(most)).min(n);
        match rng.index(9) {
            0 if at < n => bytes[at] ^= 1 << rng.index(8),
            1 if at < n => bytes[at] = rng.index(256) as u8,
            2 => drop(bytes.drain(at.min(end)..end)),
            3 => {
                let piece = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => {
                let word = WORDS[rng.index(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            5 => {
                let word = WORDS[rng.index(WORDS.len())];
                bytes.splice(at..(at + word.len()).min(n), word.iter().copied());
            }
            6 => {
                let other = &seeds[rng.index(seeds.len())];
                let from = rng.index(other.len() + 1);
                let piece = &other[from..(from + rng.index(256)).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            7 => bytes.truncate(at),
            _ if at + 4 <= n => bytes[at..at + 4].copy_from_slice(&(rng.index(1 << 31) as u32).to_le_bytes()),
            _ => {}
        }
    }
    bytes
}

/// Loads and checks with options drawn from `draw`; says whether bars came out.
fn judge(path: &Path, draw: u64) -> Result<bool, String> {
    let set = |bit: u64| draw >> bit & 1 == 1;
    let text = |bit: u64, text: &str| set(bit).then(|| text.to_owned());
    let options = LoadOptions {
        repair: set(1),
        tz: text(2, "America/New_York"),
        resample: text(3, "1d@17:00").filter(|_| set(4)),
        from: text(5, "2000-01-01").filter(|_| set(6)),
        adjust: set(7) && set(8),
        symbol: text(0, "AAA"),
        ..LoadOptions::default()
    };
    // Reports of what does not load are held to nothing but their coming.
    let _ = check(path, &options);
    match load(path, &options) {
        Err(error) => {
            // A message that cannot be made is as bad as a panic.
            let _ = (error.to_string(), error.hint());
            Ok(false)
        }
        Ok(loaded) => match Bars::new(loaded.bars.into_columns()) {
            Ok(_) => Ok(true),
            Err(error) => Err(format!("loads what are no bars: {error}")),
        },
    }
}
