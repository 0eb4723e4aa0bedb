//! What a zip archive says of its members that its reader keeps to itself, or says as if the archive were broken.

use std::collections::HashSet;
use std::path::Path;

use zip::result::ZipError;

use super::LoadError;

/// Marks of the end of the directory and of an entry; their least lengths.
const END: (&[u8], usize) = (b"PK\x05\x06", 22);
const ENTRY: (&[u8], usize) = (b"PK\x01\x02", 46);

/// A name that two members have: the reader knows members by name, and would lose one of them.
pub(crate) fn repeated(archive: &[u8]) -> Option<String> {
    let end = archive.windows(END.0.len()).rposition(|w| w == END.0).filter(|at| at + END.1 <= archive.len())?;
    let size = u32::from_le_bytes(archive.get(end + 12..end + 16)?.try_into().ok()?) as usize;
    let mut rest = archive.get(end.checked_sub(size)?..end)?;
    let mut seen = HashSet::new();
    while rest.starts_with(ENTRY.0) {
        let length = |at: usize| Some(usize::from(u16::from_le_bytes(rest.get(at..at + 2)?.try_into().ok()?)));
        let (name, more) = (length(28)?, length(30)? + length(32)?);
        let name = rest.get(ENTRY.1..ENTRY.1 + name)?;
        if !seen.insert(name) {
            return Some(String::from_utf8_lossy(name).into_owned());
        }
        rest = rest.get(ENTRY.1 + name.len() + more..)?;
    }
    None
}

/// Why a member does not open.
pub(crate) fn refused(member: &Path, archive: &Path, error: &ZipError) -> LoadError {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => LoadError::Format {
            path: member.to_owned(),
            kind: "encrypted",
            remedy: "unpack it with its password, and give the plain file",
        },
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => unsupported(member),
        error => LoadError::Broken { path: archive.to_owned(), format: "zip", detail: error.to_string() },
    }
}

/// A member packed as its reader does not unpack.
pub(crate) fn unsupported(member: &Path) -> LoadError {
    LoadError::Format {
        path: member.to_owned(),
        kind: "packed otherwise than by deflate (bzip2, lzma, …)",
        remedy: "unpack it by hand, and give the plain file or one packed with gzip or zstd",
    }
}
