//! [`KernelSource`]: named texts joined with `#line`, compiled once per specialisation with NVRTC. [`Kernel`]: a
//! function.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys::CUfunction_attribute as FunctionAttribute;
use cudarc::driver::{CudaFunction, CudaModule};
use cudarc::nvrtc::{Ptx, result, sys};

use crate::cache::KernelCache;
use crate::device::Device;
use crate::error::{GpuError, words};
use crate::library::nvrtc_present;

/// A compute capability as NVRTC writes it: 90 for 9.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(pub u32);

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

/// What one compilation is made of. Texts are joined in order; each begins with a `#line` of its own, so that errors
/// point into the file they are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource {
    name: &'static str,
    texts: Vec<(&'static str, &'static str)>,
    flags: Vec<String>,
    arch_specific: bool,
}

impl KernelSource {
    /// An empty source; `name` is for messages.
    pub fn new(name: &'static str) -> Self {
        Self { name, texts: Vec::new(), flags: vec!["--std=c++17".into()], arch_specific: false }
    }

    /// Appends a text; `file` is the name errors show.
    #[must_use]
    pub fn text(mut self, file: &'static str, text: &'static str) -> Self {
        self.texts.push((file, text));
        self
    }

    /// Appends several texts.
    #[must_use]
    pub fn texts(mut self, texts: &[(&'static str, &'static str)]) -> Self {
        self.texts.extend_from_slice(texts);
        self
    }

    /// Adds a compiler flag, e.g. `--fmad=false`.
    #[must_use]
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// No contraction of a·b + c: f64 results equal the host's bit for bit.
    #[must_use]
    pub fn exact(self) -> Self {
        self.flag("--fmad=false")
    }

    /// Uses instructions of exactly the architecture it is compiled for (`sm_90a`): `setmaxnreg` and its like.
    #[must_use]
    pub fn arch_specific(self) -> Self {
        Self { arch_specific: true, ..self }
    }

    /// A constant: `-Dname=value`.
    #[must_use]
    pub fn define(self, name: &str, value: impl fmt::Display) -> Self {
        self.flag(format!("-D{name}={value}"))
    }

    /// The one text the compiler reads.
    pub fn joined(&self) -> String {
        self.texts.iter().map(|(file, text)| format!("#line 1 \"{file}\"\n{text}\n")).collect()
    }

    /// Name for messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Flags and constants, without the architecture.
    pub fn flags(&self) -> &[String] {
        &self.flags
    }
}

/// Machine code of one specialisation, and the compiler's log.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// A CUBIN of the architecture asked for, or PTX when NVRTC does not know it yet.
    pub image: Vec<u8>,
    /// Warnings, and ptxas's report when `--ptxas-options=-v` was given.
    pub log: String,
}

/// Version of NVRTC, if it can be loaded.
pub fn nvrtc_version() -> Option<(i32, i32)> {
    if !nvrtc_present() {
        return None;
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is present; the call writes two ints.
    unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result().ok()?;
    Some((major, minor))
}

/// Newest architecture of NVRTC that is not beyond `arch`, to fall back to its PTX.
fn supported() -> Vec<u32> {
    let mut n = 0;
    // SAFETY: the first call says how many ints the second writes.
    unsafe {
        if sys::nvrtcGetNumSupportedArchs(&raw mut n).result().is_err() {
            return Vec::new();
        }
        let mut archs = vec![0_i32; usize::try_from(n).unwrap_or(0)];
        if sys::nvrtcGetSupportedArchs(archs.as_mut_ptr()).result().is_err() {
            return Vec::new();
        }
        archs.into_iter().map(i32::unsigned_abs).collect()
    }
}

/// A program that is destroyed when it goes out of scope.
struct Program(sys::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: created by create_program and destroyed once. A failure to free leaves nothing to do.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

impl Program {
    fn log(&self) -> String {
        // SAFETY: the program is alive.
        let bytes = unsafe { result::get_program_log(self.0) }.unwrap_or_default();
        let text: Vec<u8> = bytes.into_iter().map(i8::cast_unsigned).take_while(|&b| b != 0).collect();
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    fn cubin(&self) -> Option<Vec<u8>> {
        let mut size = 0;
        // SAFETY: the program is compiled; the buffer has the size the library asked for.
        unsafe {
            sys::nvrtcGetCUBINSize(self.0, &raw mut size).result().ok()?;
            let mut image = vec![0_u8; size];
            sys::nvrtcGetCUBIN(self.0, image.as_mut_ptr().cast()).result().ok()?;
            Some(image)
        }
    }

    fn ptx(&self) -> Option<Vec<u8>> {
        // SAFETY: the program is compiled.
        let text = unsafe { result::get_ptx(self.0) }.ok()?;
        Some(text.into_iter().map(i8::cast_unsigned).collect())
    }
}

/// Compiles `source` for `arch`. Needs NVRTC but no GPU.
///
/// # Errors
/// [`GpuError::NoNvrtc`], or [`GpuError::Compile`] with NVRTC's log.
pub fn compile(source: &KernelSource, arch: Arch) -> Result<Compiled, GpuError> {
    if !nvrtc_present() {
        return Err(GpuError::NoNvrtc);
    }
    let known = supported();
    let native = known.contains(&arch.0);
    let target = if native {
        format!("--gpu-architecture=sm_{}{}", arch.0, if source.arch_specific { "a" } else { "" })
    } else {
        let below = known.iter().copied().filter(|&a| a <= arch.0).max().unwrap_or(arch.0);
        format!("--gpu-architecture=compute_{below}")
    };
    let mut flags = source.flags.clone();
    flags.push(target);
    let failed = |log: String| GpuError::Compile {
        source_name: source.name.to_owned(),
        arch: arch.to_string(),
        flags: flags.clone(),
        log,
    };
    let text = CString::new(source.joined()).map_err(|_| failed("the source holds a NUL byte".into()))?;
    let name = CString::new(source.name).unwrap_or_default();
    let program = Program(result::create_program(&text, Some(&name)).map_err(|e| failed(e.to_string()))?);
    // SAFETY: the program is alive and the flags are plain strings.
    let compiled = unsafe { result::compile_program(program.0, &flags) };
    let log = program.log();
    compiled.map_err(|e| failed(if log.is_empty() { e.to_string() } else { log.clone() }))?;
    let image = if native { program.cubin() } else { program.ptx() };
    let image = image.ok_or_else(|| failed("NVRTC returned no code".into()))?;
    Ok(Compiled { image, log })
}

/// One `extern "C"` function of a loaded module, resolved once. Cloning shares the module.
#[derive(Debug, Clone)]
pub struct Kernel {
    name: String,
    pub(crate) function: CudaFunction,
}

impl Device {
    /// Compiles (once per process and specialisation) and loads `source`, and resolves `function`.
    ///
    /// # Errors
    /// As [`compile`]; the driver's when the code cannot be loaded or has no such function.
    pub fn kernel(&self, source: &KernelSource, function: &str) -> Result<Kernel, GpuError> {
        let module = self.module(source)?;
        let found = module.load_function(function);
        let function_name = function.to_owned();
        let failed = |e| GpuError::driver(format!("kernel `{function}` of `{}`", source.name), e);
        let function = found.map_err(failed)?;
        // Asking makes the driver load it here and now, not at its first launch, which a graph may be recording.
        function.num_regs().map_err(failed)?;
        Ok(Kernel { name: function_name, function })
    }

    /// Loads code kept from an earlier process, else compiles it and keeps it.
    fn load(&self, source: &KernelSource, key: &str) -> Result<Arc<CudaModule>, GpuError> {
        let arch = self.facts().arch;
        let key = format!("{} {arch} {:?}\n{key}", env!("CARGO_PKG_VERSION"), nvrtc_version());
        let cache = KernelCache::of_user();
        let load = |image| self.shared.context.load_module(Ptx::from_binary(image));
        if let Some(module) = cache.get(&key).and_then(|image| load(image).ok()) {
            return Ok(module);
        }
        let image = compile(source, arch)?.image;
        let module = load(image.clone()).map_err(|e| GpuError::driver(format!("loading `{}`", source.name), e))?;
        cache.put(&key, &image);
        Ok(module)
    }

    fn module(&self, source: &KernelSource) -> Result<Arc<CudaModule>, GpuError> {
        let key = format!("{} {}\n{}", source.arch_specific, source.flags.join(" "), source.joined());
        let mut modules = self.shared.modules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(module) = modules.get(&key) {
            return Ok(module.clone());
        }
        let module = self.load(source, &key)?;
        modules.insert(key, module.clone());
        Ok(module)
    }
}

impl Kernel {
    /// The `extern "C"` name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Lets a block have `bytes` of dynamic shared memory, which beyond 48 KiB must be asked for.
    pub(crate) fn allow_shared(&self, bytes: usize) -> Result<(), String> {
        const WITHOUT_ASKING: usize = 48 * 1024;
        if bytes <= WITHOUT_ASKING {
            return Ok(());
        }
        let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let value = i32::try_from(bytes).map_err(|e| e.to_string())?;
        self.function.set_attribute(attribute, value).map_err(words)
    }

    /// Registers of a thread and bytes of local memory (spills), as compiled.
    pub fn resources(&self) -> (i32, i32) {
        (self.function.num_regs().unwrap_or(0), self.function.local_size_bytes().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_joined_with_their_own_line_numbers() {
        let source = KernelSource::new("demo").text("a.cuh", "int a;").text("b.cu", "int b;").exact().define("N", 3);
        assert_eq!(source.joined(), "#line 1 \"a.cuh\"\nint a;\n#line 1 \"b.cu\"\nint b;\n");
        assert_eq!(source.flags, ["--std=c++17", "--fmad=false", "-DN=3"]);
    }
}
