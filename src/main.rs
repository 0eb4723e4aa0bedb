//! The program.
#![forbid(unsafe_code)]

#[cfg(test)]
mod events;

fn main() {}
