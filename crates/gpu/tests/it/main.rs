//! The device headers, compiled for the host, and NVRTC's error messages. No GPU is needed.
#![allow(clippy::unwrap_used, missing_docs)]

mod host_kernel;
mod primitive;

use std::process::Command;

use gigabar_gpu::header::{PRELUDE, REDUCE, RNG};
use gigabar_gpu::{Arch, GpuError, KernelSource, compile, nvrtc_version};
use gigabar_market::rng::{Philox, unit_f32, unit_f64};
use libloading::Library;
use rand::RngCore;

use host_kernel::{HostKernel, PARAMETERS, raw};
use primitive::{LEVELS, Outcome};

const ENTRY: &str = r#"
extern "C" void block(u64 seed, u64 stream, u64 index, u32* out) {
    PhiloxWords words = philox_block(seed, stream, index);
    for (int i = 0; i < 4; ++i) out[i] = words.v[i];
}
extern "C" void units(u32 high, u32 low, f32* single, f64* both) {
    *single = unit_f32(high);
    *both = unit_f64(high, low);
}
"#;

type Block = unsafe extern "C" fn(u64, u64, u64, *mut u32);
type Units = unsafe extern "C" fn(u32, u32, *mut f32, *mut f64);

#[test]
fn rng_cuh_draws_the_words_of_the_cpu_generator() {
    let folder = tempfile::tempdir().unwrap();
    let (text, library) = (folder.path().join("rng.cpp"), folder.path().join("librng.so"));
    std::fs::write(&text, format!("{}\n{}\n{ENTRY}", PRELUDE.1, RNG.1).replace("#pragma once", "")).unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let flags = ["-std=c++17", "-O2", "-shared", "-fPIC", "-Wall", "-Werror", "-o"];
    let output = Command::new(&compiler).args(flags).arg(&library).arg(&text).output();
    let output = output.unwrap_or_else(|e| panic!("this test needs a C++17 compiler; `{compiler}` (set CXX): {e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // SAFETY: built a moment ago from our own text; both symbols have the types named.
    unsafe {
        let library = Library::new(&library).unwrap();
        let (block, units) = (library.get::<Block>(b"block").unwrap(), library.get::<Units>(b"units").unwrap());
        for (seed, stream) in [(0, 0), (7, 1), (0x1234_5678_9abc_def0, 0xfedc_ba98_7654_3210)] {
            let mut cpu = Philox::new(seed, stream);
            for index in 0..100 {
                let mut words = [0_u32; 4];
                block(seed, stream, index, words.as_mut_ptr());
                assert_eq!(words, [(); 4].map(|()| cpu.next_u32()));
                let (mut single, mut both) = (0.0, 0.0);
                units(words[0], words[1], &raw mut single, &raw mut both);
                assert_eq!((single, both), (unit_f32(words[0]), unit_f64(words[0], words[1])));
            }
        }
    }
}

#[test]
fn every_header_compiles_and_errors_point_into_their_file() {
    if nvrtc_version().is_none() {
        println!("skipped: no libnvrtc; pip install nvidia-cuda-nvrtc and set NVRTC_LIB_DIR");
        return;
    }
    let headers = KernelSource::new("headers").texts(&[PRELUDE, RNG, REDUCE]);
    let kernel = "extern \"C\" __global__ void demo(f64* x) {\n    __shared__ f64 s[64];\n    \
                  *x = block_reduce<64>(*x, s, AddF64()) + unit_f64(philox_block(1, 2, 3).v[0], 0);\n}\n";
    for arch in [75, 80, 90, 120] {
        compile(&headers.clone().text("demo.cu", kernel), Arch(arch)).unwrap();
        compile(&primitive::source(), Arch(arch)).unwrap();
    }
    let Err(GpuError::Compile { log, arch, .. }) = compile(&headers.text("broken.cu", "\nint x = ;"), Arch(90)) else {
        panic!("it compiled");
    };
    assert!(log.contains("broken.cu(2)"), "{log}");
    assert_eq!(arch, "sm_90");
}

#[test]
fn reductions_scans_and_quantiles_equal_plain_loops() {
    let launch = "1, 1, 1, LANES, [=] { primitives((f64*)p[0], n[0], (f64*)p[1], (f64*)p[2], (f64*)p[3], (u32*)p[4], \
                  (f64*)p[5]); }";
    let kernel = HostKernel::build(&primitive::source(), PARAMETERS, launch);
    primitive::check(5_000, |x| {
        let (mut x, mut levels, n) = (x.to_vec(), LEVELS, x.len());
        let (mut reduced, mut before, mut counted) = (vec![0.0; 6], vec![0.0; n], vec![0_u32; n]);
        let mut quantiles = vec![0.0; LEVELS.len()];
        let inputs = [raw(&mut x), raw(&mut levels)];
        let outputs = [raw(&mut reduced), raw(&mut before), raw(&mut counted), raw(&mut quantiles)];
        kernel.run(&[&inputs[..], &outputs].concat(), &[n as u32]);
        Outcome { reduced, before, counted, quantiles }
    });
}
