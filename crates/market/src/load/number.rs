//! Numbers as files write them: plain, with thousands separators, with decimal comma, with currency sign or K/M/B.

/// What a comma inside a number means in this file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comma {
    /// `1,234.5`
    Thousands,
    /// `1.234,5`
    Decimal,
}

/// What a cell holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A finite number.
    Value(f64),
    /// Nothing, or a word for it.
    Missing,
    /// Something else.
    Bad,
}

const MISSING: [&str; 9] = ["", "nan", "null", "na", "n/a", "none", "-", ".", "#n/a"];

/// Reads a trimmed cell. The value is the f64 nearest to the decimal written.
pub(crate) fn parse(cell: &[u8], comma: Comma) -> Number {
    let Ok(text) = std::str::from_utf8(cell) else { return Number::Bad };
    let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    let may_be_plain = plain && (comma == Comma::Thousands || !text.contains('.'));
    match text.parse::<f64>() {
        Ok(value) if may_be_plain && value.is_finite() => Number::Value(value),
        _ if MISSING.iter().any(|word| text.eq_ignore_ascii_case(word)) => Number::Missing,
        _ => dressed(text, comma),
    }
}

/// Reads a trimmed cell that holds a bare number: no separators of thousands, currencies or letters for thousands. A
/// comma is decimal, or refused; true is 1 and false 0.
pub(crate) fn bare(cell: &[u8], comma_is_decimal: bool) -> Number {
    let Ok(text) = std::str::from_utf8(cell) else { return Number::Bad };
    if let Some(at) = ["false", "true"].iter().position(|word| text.eq_ignore_ascii_case(word)) {
        return Number::Value(at as f64);
    }
    let parsed = if comma_is_decimal && cell.contains(&b',') {
        text.replace(',', ".").parse::<f64>()
    } else {
        text.parse::<f64>()
    };
    match parsed {
        Ok(value) if value.is_finite() => Number::Value(value),
        Ok(value) if value.is_nan() => Number::Missing,
        _ if MISSING.iter().any(|word| text.eq_ignore_ascii_case(word)) => Number::Missing,
        _ => Number::Bad,
    }
}

fn dressed(text: &str, comma: Comma) -> Number {
    let bare = text.trim_start_matches(['$', '€', '£']).trim_start();
    let (bare, scale) = match bare.as_bytes().last() {
        Some(b'K' | b'k') => (&bare[..bare.len() - 1], "e3"),
        Some(b'M' | b'm') => (&bare[..bare.len() - 1], "e6"),
        Some(b'B' | b'b') => (&bare[..bare.len() - 1], "e9"),
        _ => (bare, ""),
    };
    let (group, decimal) = if comma == Comma::Thousands { (',', '.') } else { ('.', ',') };
    let (whole, fraction) = bare.split_once(decimal).unwrap_or((bare, ""));
    let Some(mut digits) = ungroup(whole, group) else { return Number::Bad };
    if !fraction.is_empty() {
        digits.push('.');
        digits.push_str(fraction);
    }
    if !digits.bytes().any(|b| b.is_ascii_digit()) {
        return Number::Bad;
    }
    // Read as a whole, so that it is rounded once.
    digits.push_str(scale);
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Number::Value(value),
        _ => Number::Bad,
    }
}

/// Removes separators between groups of three digits; `None` when the groups are not of three.
fn ungroup(whole: &str, group: char) -> Option<String> {
    let mut parts = whole.split(|c: char| c == group || is_gap(c)).peekable();
    let mut out = parts.next()?.to_owned();
    if parts.peek().is_some() && !(1..=3).contains(&out.trim_start_matches(['-', '+']).len()) {
        return None;
    }
    for part in parts {
        if part.len() != 3 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        out.push_str(part);
    }
    Some(out)
}

/// What a cell shows of the file's separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Nothing: it has none.
    None,
    /// It can be read one way only.
    Shows(Comma),
    /// One such separator before three digits: `1,234`, `16.769`.
    Open(u8),
}

/// What a trimmed cell shows.
pub(crate) fn evidence(cell: &[u8]) -> Evidence {
    let Ok(text) = std::str::from_utf8(cell) else { return Evidence::None };
    let text = text.trim_start_matches(['$', '€', '£', '-', '+']).trim_end_matches(['K', 'k', 'M', 'm', 'B', 'b']);
    let digits: String = text.chars().filter(|&c| !is_gap(c)).collect();
    let Some(last) = digits.rfind([',', '.']) else { return Evidence::None };
    if !digits.bytes().all(|b| b.is_ascii_digit() || b == b',' || b == b'.') {
        return Evidence::None;
    }
    let separator = digits.as_bytes()[last];
    let decimal = Evidence::Shows(if separator == b',' { Comma::Decimal } else { Comma::Thousands });
    let group = Evidence::Shows(if separator == b',' { Comma::Thousands } else { Comma::Decimal });
    let count = digits.bytes().filter(|&b| b == separator).count();
    let others = digits.bytes().any(|b| b != separator && !b.is_ascii_digit());
    let (whole, fraction) = (&digits[..last], &digits[last + 1..]);
    match (count, others || digits.len() < text.len()) {
        (1, true) => decimal,
        (1, false) if fraction.len() != 3 || !(1..=3).contains(&whole.len()) || whole.starts_with('0') => decimal,
        (1, false) => Evidence::Open(separator),
        (_, false) if ungroup(&digits, char::from(separator)).is_some() => group,
        _ => Evidence::None,
    }
}

/// Blanks and marks that part thousands and nothing else.
fn is_gap(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_files_write() {
        let thousands = |s: &str| parse(s.as_bytes(), Comma::Thousands);
        let decimal = |s: &str| parse(s.as_bytes(), Comma::Decimal);
        for (text, want) in [("1.5", 1.5), ("-36.98", -36.98), ("1e-5", 1e-5), ("1,234.5", 1234.5), ("$12.5", 12.5)] {
            assert_eq!(thousands(text), Number::Value(want), "{text}");
        }
        for (text, want) in [("1,5", 1.5), ("1.234,5", 1234.5), ("1 234,5", 1234.5), ("12", 12.0), ("1.234", 1234.0)] {
            assert_eq!(decimal(text), Number::Value(want), "{text}");
        }
        for (text, want) in [("1.25M", 1.25e6), ("16.38K", 16380.0), ("513.43k", 513_430.0), ("1,234.5B", 1234.5e9)] {
            assert_eq!(thousands(text), Number::Value(want), "{text}");
        }
        for text in ["", "NaN", "null", "N/A", "-", "."] {
            assert_eq!(thousands(text), Number::Missing, "{text}");
        }
        for text in ["abc", "1,2", "inf", "1..2", "0x10", "M", "1_000", "--1", "1e999"] {
            assert_eq!(thousands(text), Number::Bad, "{text}");
        }
    }

    #[test]
    fn bare_numbers_wear_nothing() {
        for (text, decimal, want) in [
            ("-0.5", false, -0.5),
            ("1e-3", false, 1e-3),
            ("0,5", true, 0.5),
            ("0.5", true, 0.5),
            ("True", false, 1.0),
            ("false", true, 0.0),
        ] {
            assert_eq!(bare(text.as_bytes(), decimal), Number::Value(want), "{text}");
        }
        for text in ["", "nan", "NaN", "-NaN", "null", "NULL", "None", "n/a"] {
            assert_eq!(bare(text.as_bytes(), false), Number::Missing, "{text}");
        }
        for (text, decimal) in [("0,5", false), ("1,5,0", true), ("1.234,5", true), ("1K", false), ("$1", false)] {
            assert_eq!(bare(text.as_bytes(), decimal), Number::Bad, "{text}");
        }
        for text in ["inf", "-Infinity", "1e999", "buy", "yes"] {
            assert_eq!(bare(text.as_bytes(), true), Number::Bad, "{text}");
        }
    }

    #[test]
    fn a_number_shows_what_its_separators_are_or_leaves_it_open() {
        use Comma::{Decimal, Thousands};
        let shows = |text: &str| evidence(text.as_bytes());
        for text in ["1.5", "1,234.5", "1234.567", "0.123", "12,345,678", "$55.47M", "1'234.567", "-5.25"] {
            assert_eq!(shows(text), Evidence::Shows(Thousands), "{text}");
        }
        for text in ["1,5", "1.234,5", "1234,567", "0,123", "82.488.700", "1 234,567", "-0,5"] {
            assert_eq!(shows(text), Evidence::Shows(Decimal), "{text}");
        }
        assert_eq!((shows("1,234"), shows("145.123")), (Evidence::Open(b','), Evidence::Open(b'.')));
        for text in ["", "12", "1e-5.5", "1.2.3", "1,23,456", "abc", "1,234.5,6"] {
            assert_eq!(shows(text), Evidence::None, "{text}");
        }
        assert_eq!(parse(b"1234,567", Thousands), Number::Bad, "a first group of four");
    }
}
