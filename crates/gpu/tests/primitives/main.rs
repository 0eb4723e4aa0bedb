//! Reductions, scans and quantiles on a CUDA device:
//! `cargo test -p gigabar-gpu --test primitives -- --ignored --test-threads=1`.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../it/primitive.rs"]
mod primitive;

use gigabar_gpu::{Device, Kernel, LaunchShape};
use primitive::{LEVELS, Outcome, THREADS};

fn run(device: &Device, kernel: &Kernel, x: &[f64]) -> Outcome {
    let values = device.upload("x", x).unwrap();
    let levels = device.upload("levels", &LEVELS).unwrap();
    let reduced = device.zeros::<f64>("reduced", 6).unwrap();
    let before = device.zeros::<f64>("before", x.len()).unwrap();
    let counted = device.zeros::<u32>("counted", x.len()).unwrap();
    let quantiles = device.zeros::<f64>("quantiles", LEVELS.len()).unwrap();
    let launch = kernel.launch().buffer(&values).value(x.len() as u32).buffer(&levels).buffer(&reduced);
    let launch = launch.buffer(&before).buffer(&counted).buffer(&quantiles);
    // SAFETY: the arguments are those of `primitives`, and every buffer has the length it writes.
    unsafe { launch.run(device, LaunchShape::line(1, THREADS)) }.unwrap();
    Outcome {
        reduced: reduced.read().unwrap(),
        before: before.read().unwrap(),
        counted: counted.read().unwrap(),
        quantiles: quantiles.read().unwrap(),
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn reductions_scans_and_quantiles_equal_plain_loops() {
    let device = Device::open(0).unwrap_or_else(|error| panic!("{error}\nhint: {:?}", error.hint()));
    println!("{}", device.facts());
    let kernel = device.kernel(&primitive::source(), "primitives").unwrap();
    primitive::check(1_000_000, |x| {
        let outcome = run(&device, &kernel, x);
        // Quantiles may be NaN: compared as bits.
        let bits = |o: &Outcome| {
            [&o.reduced, &o.before, &o.quantiles].map(|c| c.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
        };
        assert_eq!(bits(&outcome), bits(&run(&device, &kernel, x)), "two runs differ");
        outcome
    });
}
