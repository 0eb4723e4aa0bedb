//! Kernels compiled for the host and run under an emulation of CUDA's threads and barriers (host_kernel.h), for the
//! tests of every crate that has kernels.

use std::process::Command;

use gigabar_gpu::KernelSource;
use libloading::Library;

/// A kernel source as a host library with one entry `host_run(arguments…)`.
pub(crate) struct HostKernel {
    library: Library,
    _folder: tempfile::TempDir,
}

impl HostKernel {
    /// Compiles `source` and an entry with these C++ `parameters` that makes `launch`: grid x, y, z, threads, kernel
    /// call.
    pub(crate) fn build(source: &KernelSource, parameters: &str, launch: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (text, library) = (folder.path().join("kernel.cpp"), folder.path().join("libkernel.so"));
        let shim = include_str!("host_kernel.h");
        let kernels =
            source.joined().replace("#pragma once", "").replace("extern __shared__ float4 dynamic_shared[];", "");
        let entry = format!("extern \"C\" int host_run({parameters}) {{ return host_launch({launch}); }}");
        std::fs::write(&text, format!("#line 1 \"host_kernel.h\"\n{shim}\n{kernels}\n{entry}\n")).unwrap();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
        let defines = source.flags().iter().filter(|flag| flag.starts_with("-D"));
        let flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-w", "-o"];
        let output = Command::new(&compiler).args(defines).args(flags).arg(&library).arg(&text).output();
        let output = output.unwrap_or_else(|e| panic!("this test needs a C++17 compiler; `{compiler}` (set CXX): {e}"));
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
        // SAFETY: the library was built a moment ago from our own text and has no initialisers that matter.
        Self { library: unsafe { Library::new(&library) }.unwrap(), _folder: folder }
    }

    /// Runs the launch over these arrays and numbers; fails when a block deadlocks.
    pub(crate) fn run(&self, pointers: &[*mut u8], numbers: &[u32]) {
        type Entry = unsafe extern "C" fn(*const *mut u8, *const u32) -> i32;
        // SAFETY: `host_run` has this type ([`PARAMETERS`]) and stays within the arrays given.
        let deadlocks = unsafe { self.library.get::<Entry>(b"host_run").unwrap()(pointers.as_ptr(), numbers.as_ptr()) };
        assert_eq!(deadlocks, 0, "blocks that deadlocked");
    }
}

/// What every entry takes: arrays, then numbers.
pub(crate) const PARAMETERS: &str = "void** p, const u32* n";

/// An array as an entry takes it.
pub(crate) fn raw<T>(values: &mut [T]) -> *mut u8 {
    values.as_mut_ptr().cast()
}
