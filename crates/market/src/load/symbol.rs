//! Which of a file's symbols a name means.

/// The one written so, else the only one that differs from it in case alone.
pub fn symbol_named(symbols: &[String], name: &str) -> Option<usize> {
    let exact = symbols.iter().position(|symbol| symbol == name);
    exact.or_else(|| {
        let mut alike = (0..symbols.len()).filter(|&i| symbols[i].eq_ignore_ascii_case(name));
        alike.next().filter(|_| alike.next().is_none())
    })
}
