//! `gigabar doctor`: what machine and build this is, and what the environment sets. Never fails.

use gigabar::gpu::Probe;
use serde::Serialize;

use crate::config::{self, ENV_PREFIX, RunConfig};
use crate::device::auto_device;
use crate::printer::Printer;

#[derive(Serialize)]
struct Health {
    version: &'static str,
    platform: String,
    threads: usize,
    cpu_features: Vec<&'static str>,
    memory_gib: Option<f64>,
    /// What `--device auto` computes large evaluations and parameter grids on.
    auto_device: &'static str,
    /// The usable GPUs, then what is missing and how to get it.
    gpu: Vec<String>,
    /// Settings in the environment: variable, key, value, and what is wrong with them.
    environment: Vec<Setting>,
    environment_error: Option<String>,
}

#[derive(Serialize)]
struct Setting {
    variable: String,
    key: String,
    value: String,
}

pub(crate) fn run(printer: Printer) -> anyhow::Result<()> {
    let overrides = config::environment(std::env::vars_os());
    let probe = gigabar::gpu::probe();
    let health = Health {
        version: env!("CARGO_PKG_VERSION"),
        platform: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        threads: rayon::current_num_threads(),
        cpu_features: cpu_features(),
        memory_gib: memory_gib(),
        auto_device: auto_device(&probe),
        gpu: gpu(&probe),
        environment_error: RunConfig::resolve(&overrides).err().map(|error| error.to_string()),
        environment: overrides
            .into_iter()
            .map(|o| Setting { variable: o.origin.to_string(), key: o.key, value: o.raw.unwrap_or_default() })
            .collect(),
    };
    if printer.is_json() {
        return printer.data_json(&health);
    }
    let features = if health.cpu_features.is_empty() { "baseline".into() } else { health.cpu_features.join(" ") };
    let memory = health.memory_gib.map_or_else(|| "unknown".into(), |gib| format!("{gib:.1} GiB"));
    printer.data(format_args!("version      {}\nplatform     {}", health.version, health.platform))?;
    printer.data(format_args!("threads      {}\ncpu          {features}", health.threads))?;
    printer
        .data(format_args!("memory       {memory}\ngpu          --device auto: {}", auto_text(health.auto_device)))?;
    for line in &health.gpu {
        printer.data(format_args!("  {line}"))?;
    }
    printer.data(format_args!(
        "settings     {} keys; layers: defaults, --config FILE, {ENV_PREFIX}*, --set",
        config::known_keys().len()
    ))?;
    if printer.is_verbose() {
        for key in config::known_keys() {
            printer.data(format_args!("  {key}"))?;
        }
    }
    for setting in &health.environment {
        printer.data(format_args!("  {} sets {} = {}", setting.variable, setting.key, setting.value))?;
    }
    if let Some(error) = &health.environment_error {
        printer.data(format_args!("  problem: {error}"))?;
    }
    Ok(())
}

fn auto_text(device: &str) -> String {
    match device {
        "cpu" => "the CPU, for want of what is named below".to_owned(),
        gpu => format!("{gpu} for large evaluations and parameter grids, else the CPU; training runs on the CPU"),
    }
}

fn gpu(probe: &Probe) -> Vec<String> {
    let devices = probe.devices.iter().map(ToString::to_string);
    let problems = probe.problems.iter().map(|(problem, remedy)| match remedy {
        Some(remedy) => format!("{problem} ({remedy})"),
        None => problem.clone(),
    });
    devices.chain(problems).collect()
}

#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<&'static str> {
    let known = [
        ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
        ("avx", std::is_x86_feature_detected!("avx")),
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
    ];
    known.into_iter().filter_map(|(name, present)| present.then_some(name)).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_features() -> Vec<&'static str> {
    Vec::new()
}

/// Linux tells; elsewhere unknown.
fn memory_gib() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0 / 1024.0)
}
