//! What a strategy may be called, and how what stands in a file is shown.

/// Characters of a name at most.
const LONGEST: usize = 200;

/// Why a name cannot be a strategy's; none where it can. It is shown on terminals and pages, where a character that
/// moves the cursor or turns the direction of writing could show another than it is.
pub(super) fn refused(name: &str) -> Option<String> {
    if let Some(c) = name.chars().find(|&c| c == char::REPLACEMENT_CHARACTER) {
        return Some(format!("holds bytes that are not UTF-8 (shown as {c})"));
    }
    if let Some(c) = name.chars().find(|&c| is_unseen(c)) {
        return Some(format!("holds the control character U+{:04X}", u32::from(c)));
    }
    let n = name.chars().count();
    (n > LONGEST).then(|| format!("has {n} characters, more than {LONGEST}"))
}

/// Control characters, ends of lines, and marks that turn the direction of writing.
fn is_unseen(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// A text for people: without characters that are not seen.
pub(super) fn printable(text: &str) -> String {
    let shown = |c: char| if is_unseen(c) { c.escape_unicode().collect() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// At most 40 characters of a text, for people.
pub(super) fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    let more = if text.chars().nth(SHOWN).is_some() { "…" } else { "" };
    printable(&text.chars().take(SHOWN).collect::<String>()) + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_show_what_they_are() {
        for name in ["momentum", "sma(10, 50)", "nivå", "平均", "a b", &"x".repeat(200), "=1+2", "👩‍👩‍👧"]
        {
            assert_eq!(refused(name), None, "{name}");
        }
        for name in ["a\u{1b}[2J", "bell\u{7}", "a\nb", "\u{202e}abc", "a\u{2028}b", "niv\u{fffd}", &"x".repeat(201)] {
            assert!(refused(name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn what_is_shown_moves_no_cursor() {
        assert_eq!(printable("a\u{1b}[2J\u{202e}é"), "a\\u{1b}[2J\\u{202e}é");
        assert_eq!(shortened(&"x".repeat(5000)), "x".repeat(40) + "…");
    }
}
