//! From a part's bytes to text: decodes UTF-16, refuses what is not text, and gives every line the same end.

use std::path::Path;

use super::container::Part;
use super::{LoadError, Place};

/// A part's text, UTF-8 without byte order mark, lines ended by `\n` or `\r\n`.
pub(crate) fn text(part: &mut Part) -> Result<Vec<u8>, LoadError> {
    let text = decode(part)?;
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(LoadError::Empty { path: part.path.clone() });
    }
    refuse_zeros(&part.path, &text)?;
    Ok(with_line_feeds(text))
}

/// Whether UTF-16 says of itself that it is.
pub(super) fn has_utf16_mark(bytes: &[u8]) -> bool {
    matches!(bytes.get(..2), Some([0xff, 0xfe] | [0xfe, 0xff]))
}

/// Refuses a text, or the beginning of one, with a zero byte in it.
pub(super) fn refuse_zeros(path: &Path, text: &[u8]) -> Result<(), LoadError> {
    let Some(nul) = text.iter().position(|&b| b == 0) else { return Ok(()) };
    let line = 1 + text[..nul].iter().filter(|&&b| b == b'\n').count() as u64;
    let (pairs, _) = text[..text.len().min(256)].as_chunks::<2>();
    // Characters of a header are below 256: of two bytes one is zero.
    let half = pairs.len() > 1 && pairs.iter().all(|&[a, b]| (a == 0) != (b == 0));
    let detail = if half { "UTF-16 without its mark: save it as UTF-8" } else { "a zero byte" };
    Err(LoadError::NotText { path: path.to_owned(), at: Place::Line(line), detail })
}

/// UTF-8 with or without mark passes; what is not UTF-8 is Windows-1252, as Excel writes in the west; UTF-16 with a mark (MetaTrader scripts write it) is decoded.
fn decode(part: &mut Part) -> Result<Vec<u8>, LoadError> {
    let mut bytes = std::mem::take(&mut part.bytes);
    if bytes.starts_with(&[0xef, 0xbb, 0xbf]) {
        bytes.drain(..3);
        return Ok(bytes);
    }
    let unit: fn([u8; 2]) -> u16 = match bytes.get(..2) {
        Some([0xff, 0xfe]) => u16::from_le_bytes,
        Some([0xfe, 0xff]) => u16::from_be_bytes,
        _ if std::str::from_utf8(&bytes).is_ok() => return Ok(bytes),
        _ => {
            part.wrapping.push("Windows-1252");
            return Ok(encoding_rs::WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned().into_bytes());
        }
    };
    let not_text = || LoadError::NotText { path: part.path.clone(), at: Place::Line(1), detail: "broken UTF-16" };
    let (pairs, rest) = bytes[2..].as_chunks::<2>();
    if !rest.is_empty() {
        return Err(not_text());
    }
    let units: Vec<u16> = pairs.iter().map(|&pair| unit(pair)).collect();
    let text = String::from_utf16(&units).map(String::into_bytes).map_err(|_| not_text())?;
    part.wrapping.push("UTF-16");
    Ok(text)
}

/// A carriage return that ends a line alone becomes a line feed, so that lines are counted as an editor counts them.
fn with_line_feeds(mut text: Vec<u8>) -> Vec<u8> {
    for i in 0..text.len() {
        if text[i] == b'\r' && text.get(i + 1) != Some(&b'\n') {
            text[i] = b'\n';
        }
    }
    text
}
