//! The crates' arrows point one way: market, gpu → backtest → learn → gigabar.

use std::process::Command;

use serde_json::Value;

const ORDER: [&str; 5] = ["gigabar-market", "gigabar-gpu", "gigabar-backtest", "gigabar-learn", "gigabar"];

#[test]
fn dependencies_point_from_right_to_left_only() {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert_eq!(packages.len(), ORDER.len(), "a crate was added: give it its place in ORDER");
    let place = |name: &str| ORDER.iter().position(|o| *o == name);
    for package in packages {
        let own = place(package["name"].as_str().unwrap()).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            if let Some(other) = place(dependency["name"].as_str().unwrap()) {
                assert!(other < own, "{} must not depend on {}", ORDER[own], ORDER[other]);
            }
        }
    }
}
