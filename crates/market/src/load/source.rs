//! From a path to text: decompresses, decodes, and refuses what is not delimited text.

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::LoadError;

/// A file's text and where it came from.
pub(crate) struct Source {
    /// Text, UTF-8 without byte order mark.
    pub(crate) text: Vec<u8>,
    /// Hex SHA-256 of the file's bytes, before decompression.
    pub(crate) sha256: String,
    /// `gzip`, `UTF-16`: what had to be undone.
    pub(crate) wrapping: Vec<&'static str>,
}

/// Reads a file whole.
pub(crate) fn read(path: &Path) -> Result<Source, LoadError> {
    let bytes = std::fs::read(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    let sha256 = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    let mut wrapping = Vec::new();
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        wrapping.push("gzip");
        gunzip(path, &bytes)?
    } else {
        bytes
    };
    refuse_binary(path, &bytes)?;
    let text = decode(path, bytes, &mut wrapping)?;
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(LoadError::Empty { path: path.to_owned() });
    }
    if let Some(nul) = text.iter().position(|&b| b == 0) {
        let line = 1 + text[..nul].iter().filter(|&&b| b == b'\n').count() as u64;
        return Err(LoadError::NotText { path: path.to_owned(), line, detail: "a zero byte" });
    }
    Ok(Source { text, sha256, wrapping })
}

fn gunzip(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    let mut out = Vec::with_capacity(bytes.len().saturating_mul(4));
    MultiGzDecoder::new(bytes)
        .read_to_end(&mut out)
        .map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    Ok(out)
}

/// First bytes, name, remedy.
const BINARY: [(&[u8], &str, &str); 8] = [
    (b"PK\x03\x04", "a zip archive", "unpack it: unzip FILE"),
    (b"PK\x05\x06", "an empty zip archive", "unpack it: unzip FILE"),
    (b"PAR1", "a Parquet file", "write it as CSV with columns timestamp,open,high,low,close,volume"),
    (b"DBN", "a Databento DBN file", "write it as CSV, e.g. with Databento's `dbn FILE --csv`"),
    (b"\x28\xb5\x2f\xfd", "a zstd-compressed file", "decompress it: zstd -d FILE"),
    (b"\xfd7zXZ\0", "an xz-compressed file", "decompress it: xz -d FILE"),
    (b"BZh", "a bzip2-compressed file", "decompress it: bunzip2 FILE"),
    (b"ARROW1", "an Arrow (Feather) file", "write it as CSV with columns timestamp,open,high,low,close,volume"),
];

fn refuse_binary(path: &Path, bytes: &[u8]) -> Result<(), LoadError> {
    match BINARY.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        Some(&(_, kind, remedy)) => Err(LoadError::Format { path: path.to_owned(), kind, remedy }),
        None => Ok(()),
    }
}

/// UTF-8 with or without mark passes; UTF-16 with a mark (MetaTrader scripts write it) is decoded.
fn decode(path: &Path, mut bytes: Vec<u8>, wrapping: &mut Vec<&'static str>) -> Result<Vec<u8>, LoadError> {
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
        return Ok(bytes);
    }
    let unit: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        Some([0xff, 0xfe]) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        _ => return Ok(bytes),
    };
    let not_text = || LoadError::NotText { path: path.to_owned(), line: 1, detail: "broken UTF-16" };
    let (pairs, rest) = bytes[2..].as_chunks::<2>();
    if !rest.is_empty() {
        return Err(not_text());
    }
    let units: Vec<u16> = pairs.iter().map(|&pair| unit(pair)).collect();
    wrapping.push("UTF-16");
    String::from_utf16(&units).map(String::into_bytes).map_err(|_| not_text())
}
