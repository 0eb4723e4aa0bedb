//! serde's messages in words that name no Rust type.

/// `invalid type: string "cheap", expected f64` as `expected a number, got "cheap"`; other messages as they are.
pub(super) fn plain(message: &str) -> String {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((got, expected)) = rest.and_then(|rest| rest.rsplit_once(", expected ")) else { return message.into() };
    match given(got) {
        Some(got) => format!("expected {}, got {got}", wanted(expected)),
        None => format!("expected {}", wanted(expected)),
    }
}

fn wanted(expected: &str) -> &str {
    match expected {
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "a list such as [64, 64]",
        "a string" => "text",
        "string only" => "a name",
        other if other.starts_with("struct ") || other.contains("enum ") => "a table of settings",
        other => other,
    }
}

/// The value without its kind: `"cheap"` of `string "cheap"`, `-1` of ``integer `-1` ``.
fn given(got: &str) -> Option<String> {
    let quoted = got.split_once('`').and_then(|(_, rest)| rest.strip_suffix('`'));
    match (got, quoted) {
        (_, Some(value)) => Some(value.to_owned()),
        ("map", _) => Some("a table".to_owned()),
        ("sequence", _) => Some("a list".to_owned()),
        _ => got.strip_prefix("string ").map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_type_is_named() {
        assert_eq!(plain("invalid type: string \"cheap\", expected f64"), "expected a number, got \"cheap\"");
        assert_eq!(plain("invalid value: integer `-1`, expected usize"), "expected a whole number, 0 or more, got -1");
        assert_eq!(
            plain("invalid type: integer `2`, expected struct TripleBarrier"),
            "expected a table of settings, got 2"
        );
        assert_eq!(plain("invalid type: unit variant, expected string only"), "expected a name");
        assert_eq!(plain("missing field `bps`"), "missing field `bps`");
    }
}
