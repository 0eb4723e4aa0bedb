//! The loop on the CPU's trainers in a population's place: what the CPU alone makes of the same run, bit for bit.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::VecDeque;

use gigabar::report::DataSummary;
use gigabar_learn::dqn::DqnConfig;
use gigabar_market::feature::FeatureTable;
use gigabar_market::window::{WalkForwardConfig, walk_forward};

use super::*;
use crate::config::RunConfig;
use crate::dataset::Dataset;
use crate::printer::{Printer, Verbosity};
use crate::run_folder::{RunFolder, RunInfo};
use crate::training::cpu;

/// Trainers one after the other. Refuses to be read while an epoch is queued.
struct Fake<'a> {
    trainers: Vec<Trainer>,
    done: usize,
    queued: VecDeque<Vec<EpochSummary>>,
    ahead: &'a RefCell<Vec<bool>>,
}

impl Resident for Fake<'_> {
    fn epochs_done(&self) -> usize {
        self.done
    }

    fn n_epochs(&self) -> usize {
        self.trainers[0].n_epochs()
    }

    fn run_epoch(&mut self, ahead: bool) -> Result<Vec<EpochSummary>, LearnError> {
        self.ahead.borrow_mut().push(ahead);
        while self.queued.len() < 1 + usize::from(ahead) {
            let epoch = self.trainers.iter_mut().map(Trainer::run_epoch).collect::<Result<_, _>>()?;
            self.queued.push_back(epoch);
        }
        self.done += 1;
        Ok(self.queued.pop_front().unwrap())
    }

    fn trainers(&mut self) -> Result<&[Trainer], LearnError> {
        assert!(self.queued.is_empty(), "read while the next epoch was under way");
        Ok(&self.trainers)
    }
}

/// A run of two folds and two seeds in a folder of its own.
struct Bench {
    dir: tempfile::TempDir,
    config: RunConfig,
    dataset: Dataset,
    features: FeatureTable,
}

impl Bench {
    fn new(dqn: DqnConfig) -> Self {
        let bars = gigabar_market::synth::planted(500, 1, &Default::default()).unwrap();
        let sigma = gigabar_market::sigma::sigma(bars.close());
        let summary = DataSummary::new("bars.csv", "00", &bars, &[]);
        let dataset = Dataset { bars: bars.into(), sigma: sigma.into(), summary, reordered: false };
        let window = WalkForwardConfig { n_windows: 2, ..WalkForwardConfig::default() };
        let config = RunConfig { dqn, window, checkpoint_secs: 1e6, ..RunConfig::default() };
        let features = dataset.features().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), config, dataset, features }
    }

    fn folder(&self, name: &str) -> RunFolder {
        let info =
            "verb='v'\ncommand='c'\npolicy='p'\nversion='0'\ncreated='t'\ndevice='cpu'\ndata='d'\ndata_sha256='0'";
        let info: RunInfo = toml::from_str(info).unwrap();
        RunFolder::create(Some(&self.dir.path().join(name)), "x", &self.config, &info).unwrap()
    }

    fn job<'a>(&'a self, folder: &'a RunFolder, resume: bool) -> Job<'a> {
        let windows = walk_forward(self.features.n_bars(), self.features.warmup_bars(), &self.config.window).unwrap();
        Job {
            config: &self.config,
            dataset: &self.dataset,
            features: &self.features,
            train: windows.into_iter().map(|window| window.train).collect(),
            n_seeds: 2,
            folder,
            printer: Printer::new(Verbosity::Quiet, false),
            resume,
        }
    }
}

fn small() -> DqnConfig {
    DqnConfig {
        hidden: vec![8],
        batch: 16,
        replay_capacity: 300,
        learning_starts: 32,
        steps_per_epoch: 128,
        epochs: 4,
        ..DqnConfig::default()
    }
}

/// Runs the loop; returns how it ended and which epochs ran ahead.
fn populate(job: &Job<'_>, device: &str) -> (anyhow::Result<Trained>, Vec<bool>) {
    let ahead = RefCell::new(Vec::new());
    let settle = |trainers: Vec<Trainer>| {
        let done = trainers[0].epochs_done();
        assert!(trainers.iter().all(|trainer| trainer.epochs_done() == done), "a population is in step");
        Ok(Fake { trainers, done, queued: VecDeque::new(), ahead: &ahead })
    };
    (train_with(job, device, settle), ahead.into_inner())
}

/// Weights of all learners and what the log says, times apart.
fn outcome(trained: Trained, folder: &RunFolder) -> (Vec<Vec<Vec<f32>>>, Vec<serde_json::Value>) {
    let Trained::All(policies, _) = trained else { panic!("it did not come to its end") };
    let log = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
    let timeless = |line: &str| {
        let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
        row.as_object_mut().unwrap().retain(|key, _| key != "time" && key != "steps_per_second");
        row
    };
    (policies.iter().flatten().map(|policy| policy.weights().to_vec()).collect(), log.lines().map(timeless).collect())
}

#[test]
fn a_population_ends_where_the_cpu_does() {
    let bench = Bench::new(small());
    let [alone, together] = ["alone", "together"].map(|name| bench.folder(name));
    let want = outcome(cpu::train(&bench.job(&alone, false)).unwrap(), &alone);
    assert_eq!((want.0.len(), want.1.len()), (4, 16));
    let (trained, ahead) = populate(&bench.job(&together, false), "cpu");
    assert!(outcome(trained.unwrap(), &together) == want);
    // The first epoch is saved, and the last.
    assert_eq!(ahead, [false, true, true, false]);
}

#[test]
fn learners_that_have_come_unequally_far_take_turns() {
    let bench = Bench::new(small());
    let [alone, resumed] = ["alone", "resumed"].map(|name| bench.folder(name));
    let want = outcome(cpu::train(&bench.job(&alone, false)).unwrap(), &alone);
    let begun = bench.job(&resumed, false);
    let recorder = Recorder::new(&begun, &[0; 4], "cpu").unwrap();
    for (learner, epochs) in begun.learners().unwrap().iter_mut().zip([4, 2, 0, 2]) {
        for _ in 0..epochs {
            recorder.epoch(&[(learner.index, learner.trainer.run_epoch().unwrap())]).unwrap();
            learner.trainer.save(&begun.checkpoint(learner.index)).unwrap();
        }
    }
    let (trained, ahead) = populate(&bench.job(&resumed, true), "cuda:0 X");
    assert!(outcome(trained.unwrap(), &resumed) == want);
    assert_eq!(ahead, [false, true, true, false, false, false], "four epochs of one learner, two of two");
    assert_eq!(resumed.settings().unwrap().1.devices(), "cpu, then cuda:0 X");
}

#[test]
fn a_guard_stops_all_after_the_epoch() {
    let mut config = small();
    (config.guard.max_q, config.guard.stop) = (1e-6, true);
    let bench = Bench::new(config);
    let folder = bench.folder("run");
    let (trained, ahead) = populate(&bench.job(&folder, false), "cpu");
    let Trained::Tripped(reason) = trained.unwrap() else { panic!("no guard tripped") };
    assert!(reason.starts_with("fold 0, seed 0, epoch 0: "), "{reason}");
    assert_eq!(reason.split("; fold ").count(), 4, "every learner that tripped: {reason}");
    assert_eq!(ahead, [false]);
    let learners = bench.job(&folder, true).learners().unwrap();
    assert_eq!(learners.iter().map(|one| one.trainer.epochs_done()).collect::<Vec<_>>(), [1; 4]);
}

#[test]
fn a_device_without_room_is_told_from_one_that_fails() {
    let bench = Bench::new(small());
    let folder = bench.folder("run");
    let job = bench.job(&folder, false);
    let no_room = |_| Err::<Fake<'_>, _>(LearnError::Memory { total: "9 GiB".into(), parts: "replay 8 GiB".into() });
    let Err(error) = train_with(&job, "cuda:0 X", no_room) else { panic!("it trained without room") };
    assert!(error.is::<NotBegun>());
    let text = format!("{error:#}");
    assert!(text.starts_with("training cannot begin on cuda:0 X: ") && text.contains("replay 8 GiB"), "{text}");
    assert_eq!(folder.settings().unwrap().1.devices(), "cpu", "it has not computed anything");
}
