//! Quoted fields that run on over the end of a line. In a table of bars such a field is nearly always a stray mark
//! (`"5 inch`), and the rows behind it would be swallowed without a word, so that it is refused rather than noted.

use std::path::Path;

use super::dialect::reader;
use super::{LoadError, Place};

/// Refuses a text with a quoted field of more than one line.
///
/// # Errors
/// [`LoadError::Quote`] with the line the field begins on.
pub(crate) fn check(path: &Path, text: &[u8], delimiter: u8) -> Result<(), LoadError> {
    match first_open(text, delimiter) {
        Some((line, until)) => Err(LoadError::Quote { path: path.to_owned(), at: Place::Line(line), until }),
        None => Ok(()),
    }
}

/// As [`check`], for a text whose delimiter could not be found.
pub(crate) fn check_any(path: &Path, text: &[u8]) -> Result<(), LoadError> {
    [b',', b';', b'\t', b'|'].into_iter().try_for_each(|delimiter| check(path, text, delimiter))
}

/// The line the first such field begins on, and the one it ends on, if it does.
fn first_open(text: &[u8], delimiter: u8) -> Option<(u64, Option<u64>)> {
    if !text.contains(&b'"') {
        return None;
    }
    let lines_before = |byte: usize| 1 + text[..byte].iter().filter(|&&b| b == b'\n').count() as u64;
    let mut reader = reader(text, delimiter);
    let mut record = csv::ByteRecord::new();
    while matches!(reader.read_byte_record(&mut record), Ok(true)) {
        let content = record.as_slice();
        let Some(line_end) = content.iter().position(|&b| b == b'\n') else { continue };
        // The record is as written up to that line end, but for delimiters and quotes.
        let start = record.position().map_or(0, |p| p.byte() as usize);
        let blank = text[start..].iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
        let line = lines_before(start + blank);
        let end = (reader.position().byte() as usize).min(text.len());
        let raw = &text[start + blank..end];
        let closed = end < text.len() || is_closed(raw, content);
        let breaks = content[line_end..].iter().filter(|&&b| b == b'\n').count() as u64;
        return Some((line, closed.then_some(line + breaks)));
    }
    None
}

/// Whether the last record of a text, with a field of several lines, ends outside of quotes.
fn is_closed(raw: &[u8], content: &[u8]) -> bool {
    match raw.last() {
        // An open field holds the line end too.
        Some(b'\n') => raw.trim_ascii_end().ends_with(b"\"") || !content.ends_with(b"\n"),
        _ => raw.iter().filter(|&&b| b == b'"').count().is_multiple_of(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_of_several_lines_is_found() {
        let found = |text: &str| first_open(text.as_bytes(), b',');
        assert_eq!(found("a,b\n1,\"x\"\n2,\"y, z\"\n"), None);
        assert_eq!(found("a,b\n1,5\" pipe\n2,6\n"), None, "a mark inside a field is a character");
        assert_eq!(found("a,b\n\n1,\"5 inch\n2,6\n3,7\n"), Some((3, None)));
        assert_eq!(found("a,b\r\n1,\"two\r\nlines\"\r\n2,6\r\n"), Some((2, Some(3))));
        assert_eq!(found("a,b\n1,\"5 inch\n2,\"6\"\n"), Some((2, Some(3))));
        assert_eq!(found("a,b\n1,\"5 inch\n2,6"), Some((2, None)));
        assert_eq!(found("a,b\n\"5\n2\",6\n"), Some((2, Some(3))));
        assert_eq!(found("a,b\n1,2\n3,4\n\"5,6"), None, "nothing behind it is swallowed");
    }
}
