//! From a path to what lies in it: undoes gzip, zstd and zip, told by their first bytes and never by a name, until
//! text, Parquet or DBN is left. What unpacks to far more than it should is refused before it fills the memory.

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::{LoadError, members, source};

/// Containers inside containers at most.
const MAX_DEPTH: usize = 4;
/// Members of an archive at most.
const MAX_MEMBERS: usize = 10_000;
/// Text of bars packs to a tenth, seldom a fiftieth.
const MAX_RATIO: u64 = 200;
/// What any file may unpack to, whatever its ratio, and what none may exceed. Bytes.
const SMALL: u64 = 64 << 20;
const MOST: u64 = 4 << 30;
/// How much of a file is looked at before the rest is read. Bytes.
const FIRST: u64 = 64 << 10;

/// What a part of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Delimited text, or so it is hoped.
    Text,
    /// Apache Parquet.
    Parquet,
    /// Databento Binary Encoding.
    Dbn,
}

/// One table: a file, or one member of an archive.
#[derive(Debug)]
pub(crate) struct Part {
    /// The file; of a member, `archive/member`.
    pub(crate) path: PathBuf,
    pub(crate) form: Form,
    pub(crate) bytes: Vec<u8>,
    /// What had to be undone, outermost first.
    pub(crate) wrapping: Vec<&'static str>,
    /// The member's name, where the part is one of a zip archive.
    pub(crate) member: Option<String>,
}

/// A file's parts, and the SHA-256 of its bytes as stored.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) parts: Vec<Part>,
    pub(crate) sha256: String,
}

/// Reads a file whole and unpacks it; of `archive.zip/member.csv`, that member.
pub(crate) fn read(path: &Path) -> Result<Stored, LoadError> {
    let archive = path.ancestors().skip(1).find(|above| above.is_file());
    let file = archive.unwrap_or(path);
    let failed = |source| LoadError::Read { path: path.to_owned(), source };
    let input = File::open(file).map_err(failed)?;
    // A device or a pipe has no length, and may have no end.
    let has_end = input.metadata().is_ok_and(|about| about.is_file() && about.len() > 0);
    let bytes = whole(path, input, if has_end { u64::MAX } else { MOST })?;
    let sha256 = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    let mut parts = parts(file, bytes)?;
    if archive.is_some() {
        let found: Vec<String> = parts.iter().filter_map(|part| part.member.clone()).collect();
        if found.is_empty() {
            let source = ErrorKind::NotADirectory.into();
            return Err(LoadError::Read { path: path.to_owned(), source });
        }
        parts.retain(|part| part.path == path);
        if parts.is_empty() {
            return Err(LoadError::NoMember { path: path.to_owned(), found });
        }
    }
    Ok(Stored { parts, sha256 })
}

/// Reads to the end, unless the beginning already shows that it is nothing to read, or more than `limit` bytes come.
fn whole(path: &Path, mut input: impl Read, limit: u64) -> Result<Vec<u8>, LoadError> {
    let failed = |source| LoadError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    input.by_ref().take(FIRST).read_to_end(&mut bytes).map_err(failed)?;
    let known =
        packing(&bytes).is_some() || form(&bytes) != Form::Text || UNREAD.iter().any(|u| bytes.starts_with(u.0));
    if !known && !source::has_utf16_mark(&bytes) {
        source::refuse_zeros(path, &bytes)?;
    }
    input.take(limit.saturating_add(1).saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(LoadError::Endless { path: path.to_owned(), limit_mb: limit >> 20 });
    }
    Ok(bytes)
}

/// The parts of a file's bytes.
pub(crate) fn parts(path: &Path, bytes: Vec<u8>) -> Result<Vec<Part>, LoadError> {
    let limit = (bytes.len() as u64).saturating_mul(MAX_RATIO).clamp(SMALL, MOST);
    let mut unpacking = Unpacking { limit, left: limit, parts: Vec::new() };
    let part = Part { path: path.to_owned(), form: Form::Text, bytes, wrapping: Vec::new(), member: None };
    unpacking.take(part, 0)?;
    Ok(unpacking.parts)
}

/// First bytes, name, remedy.
const UNREAD: [(&[u8], &str, &str); 6] = [
    (b"\xfd7zXZ\0", "an xz-compressed file", "decompress it: xz -d FILE"),
    (b"BZh", "a bzip2-compressed file", "decompress it: bunzip2 FILE"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it: 7z x FILE"),
    (b"ARROW1", "an Arrow (Feather) file", "write it as Parquet, or as CSV with columns ts,open,high,low,close,volume"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write it as Parquet, or as CSV with columns ts,open,high,low,close,volume"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file", "save it as CSV"),
];

/// What the first bytes say that a file is packed with.
fn packing(bytes: &[u8]) -> Option<&'static str> {
    match bytes.get(..4) {
        Some([0x1f, 0x8b, ..]) => Some("gzip"),
        Some([0x28, 0xb5, 0x2f, 0xfd]) => Some("zstd"),
        // A frame to be skipped, which tools write before the first one.
        Some([0x50..=0x5f, 0x2a, 0x4d, 0x18]) => Some("zstd"),
        Some(b"PK\x03\x04" | b"PK\x05\x06") => Some("zip"),
        _ => None,
    }
}

/// What the first bytes of a file that is not packed say that it is.
fn form(bytes: &[u8]) -> Form {
    match bytes.get(..4) {
        Some(b"PAR1") => Form::Parquet,
        Some([b'D', b'B', b'N', 0..=31]) => Form::Dbn,
        _ => Form::Text,
    }
}

struct Unpacking {
    limit: u64,
    left: u64,
    parts: Vec<Part>,
}

impl Unpacking {
    fn take(&mut self, mut part: Part, depth: usize) -> Result<(), LoadError> {
        let starts = |magic: &[u8]| part.bytes.starts_with(magic);
        if let Some(&(_, kind, remedy)) = UNREAD.iter().find(|(magic, ..)| starts(magic)) {
            return Err(LoadError::Format { path: part.path, kind, remedy });
        }
        part.form = form(&part.bytes);
        let packed = packing(&part.bytes);
        let Some(format) = packed else {
            self.parts.push(part);
            return Ok(());
        };
        if depth == MAX_DEPTH {
            let (kind, remedy) = ("packed more than four times over", "unpack it by hand, and give the plain file");
            return Err(LoadError::Format { path: part.path, kind, remedy });
        }
        part.wrapping.push(format);
        if format == "zip" {
            return self.members(&part, depth);
        }
        let packed = std::mem::take(&mut part.bytes);
        part.bytes = self.unpack(&part.path, format, &packed)?;
        self.take(part, depth + 1)
    }

    fn unpack(&mut self, path: &Path, format: &'static str, packed: &[u8]) -> Result<Vec<u8>, LoadError> {
        if format == "gzip" {
            return self.drain(path, format, packed.len(), MultiGzDecoder::new(packed));
        }
        let broken = |e: std::io::Error| LoadError::Broken { path: path.to_owned(), format, detail: e.to_string() };
        let mut decoder = zstd::Decoder::with_buffer(packed).map_err(broken)?;
        // A frame may ask for a window of 2 GiB; 128 MiB is what `zstd --long` writes.
        decoder.window_log_max(27).map_err(broken)?;
        self.drain(path, format, packed.len(), decoder)
    }

    /// Reads to the end, up to what is left of the limit.
    fn drain(
        &mut self,
        path: &Path,
        format: &'static str,
        packed: usize,
        from: impl Read,
    ) -> Result<Vec<u8>, LoadError> {
        let mut out = Vec::with_capacity(packed.saturating_mul(4).min(self.left as usize));
        from.take(self.left + 1).read_to_end(&mut out).map_err(|e| match e.kind() {
            // What the zip reader says first when the bytes are wanted.
            ErrorKind::Unsupported => members::unsupported(path),
            _ => LoadError::Broken { path: path.to_owned(), format, detail: e.to_string() },
        })?;
        if out.len() as u64 > self.left {
            return Err(LoadError::TooLarge { path: path.to_owned(), format, limit_mb: self.limit >> 20 });
        }
        self.left -= out.len() as u64;
        Ok(out)
    }

    /// Every member that may hold bars: those named like data where there are any, else all.
    fn members(&mut self, archive: &Part, depth: usize) -> Result<(), LoadError> {
        let broken = |detail: String| LoadError::Broken { path: archive.path.clone(), format: "zip", detail };
        let mut zip = zip::ZipArchive::new(Cursor::new(archive.bytes.as_slice())).map_err(|e| broken(e.to_string()))?;
        if let Some(name) = members::repeated(&archive.bytes) {
            return Err(LoadError::TwoMembers { path: archive.path.clone(), name });
        }
        if zip.len() > MAX_MEMBERS {
            return Err(broken(format!("{} members, at most {MAX_MEMBERS} are read", zip.len())));
        }
        let mut named: Vec<(usize, String)> = Vec::new();
        for i in 0..zip.len() {
            let member = zip.by_index_raw(i).map_err(|e| broken(e.to_string()))?;
            let name = String::from_utf8_lossy(member.name_raw()).into_owned();
            if !name.ends_with('/') && !is_hidden(&name) {
                named.push((i, name));
            }
        }
        if named.iter().any(|(_, name)| name == "[Content_Types].xml") {
            let (kind, remedy) = ("an Excel workbook", "save it as CSV");
            return Err(LoadError::Format { path: archive.path.clone(), kind, remedy });
        }
        if named.iter().any(|(_, name)| is_data(name)) {
            named.retain(|(_, name)| is_data(name));
        }
        if named.is_empty() {
            return Err(LoadError::Empty { path: archive.path.clone() });
        }
        named.sort_by(|a, b| a.1.cmp(&b.1));
        for (i, name) in named {
            let path = PathBuf::from(format!("{}/{name}", archive.path.display()));
            let member = zip.by_index(i).map_err(|e| members::refused(&path, &archive.path, &e))?;
            let packed = usize::try_from(member.compressed_size()).unwrap_or(usize::MAX).min(archive.bytes.len());
            let bytes = self.drain(&path, "zip", packed, member)?;
            let part = Part { path, form: Form::Text, bytes, wrapping: archive.wrapping.clone(), member: Some(name) };
            self.take(part, depth + 1)?;
        }
        Ok(())
    }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with("__MACOSX/") || name.rsplit('/').next().is_some_and(|base| base.starts_with('.'))
}

/// Vendors put a report or a licence beside the data.
fn is_data(name: &str) -> bool {
    let lower = name.to_lowercase();
    let bare = lower.strip_suffix(".gz").or(lower.strip_suffix(".zst")).unwrap_or(&lower);
    [".csv", ".parquet", ".dbn", ".tsv"].iter().any(|end| bare.ends_with(end))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read, repeat};

    use super::*;

    #[test]
    fn what_has_no_end_is_not_read_to_it() {
        let read = |input: Box<dyn Read>| whole(Path::new("x"), input, 1 << 20).map_err(|e| e.to_string());
        let endless = Box::new(Cursor::new(b"ts,close\n").chain(repeat(b'1')));
        assert_eq!(read(endless), Err("x: gives more than 1 MB, and perhaps no end".to_owned()));
        assert_eq!(read(Box::new(repeat(0))), Err("x, line 1: is not text (a zero byte)".to_owned()));
        assert_eq!(read(Box::new(Cursor::new(b"ts\n1"))), Ok(b"ts\n1".to_vec()));
    }
}
