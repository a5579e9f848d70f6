//! The control word and the CPUs that come and go with it (kernel/cpu.c).

use super::{Fault, State};
use crate::fake::kernel::Release;
use crate::fake::{Fake, Form, Thread};
use coretwin_base::machine::cpu_set::{CpuId, CpuSet};
use coretwin_base::machine::topology::SmtControl;
use rustix::io::Errno;

#[derive(Debug, Clone)]
pub(super) struct Switch {
    /// None: a kernel without the folder. Never `Threads`, which is how `On` reads at a level.
    word: Option<SmtControl>,
    /// Threads per core that are wanted, and that there are.
    level: u32,
    level_max: u32,
    /// Since 6.6 a word is compared by its level, not by its name.
    by_level: bool,
    /// POWER: any level, only threads within it may run, cores that are offline stay so.
    any_level: bool,
}

impl Switch {
    pub(super) fn new(fake: &Fake, release: Release, threads: &[Thread]) -> Self {
        let of_core = |core| threads.iter().filter(|thread| thread.core == core).count();
        let most = threads.iter().map(|thread| of_core(thread.core)).max().unwrap_or(1);
        let level_max = u32::try_from(most).unwrap_or(1);
        let word = fake.control.map(SmtControl::parse);
        let (word, level) = match word {
            Some(SmtControl::Threads(level)) => (Some(SmtControl::On), level),
            Some(SmtControl::On) => (word, level_max),
            other => (other, 1),
        };
        let by_level = release.at_least(6, 6);
        Self { word, level, level_max, by_level, any_level: fake.form == Form::Power && by_level }
    }

    pub(super) fn word(&self) -> Option<String> {
        let between = self.by_level && self.level != self.level_max;
        match self.word.as_ref()? {
            SmtControl::On if between => Some(self.level.to_string()),
            word => Some(word.word()),
        }
    }

    fn parse(&self, text: &str) -> Result<(SmtControl, u32), Errno> {
        match SmtControl::parse(text) {
            SmtControl::On => Ok((SmtControl::On, self.level_max)),
            SmtControl::Off => Ok((SmtControl::Off, 1)),
            SmtControl::ForceOff => Ok((SmtControl::ForceOff, 1)),
            SmtControl::Threads(1) if self.by_level => Ok((SmtControl::Off, 1)),
            SmtControl::Threads(level) if self.by_level => {
                let known = match self.any_level {
                    true => (1..=self.level_max).contains(&level),
                    false => level == self.level_max,
                };
                known.then_some((SmtControl::On, level)).ok_or(Errno::INVAL)
            }
            _ => Err(Errno::INVAL),
        }
    }
}

impl State {
    /// `__store_smt_control`.
    pub(super) fn write_control(&mut self, text: &str) -> Result<(), Errno> {
        match self.switch.word {
            Some(SmtControl::ForceOff) => return Err(Errno::PERM),
            Some(SmtControl::NotSupported | SmtControl::NotImplemented) | None => {
                return Err(Errno::NODEV);
            }
            _ => {}
        }
        let (word, level) = self.switch.parse(text)?;
        let before = std::mem::replace(&mut self.switch.level, level);
        let (more, fewer) = if self.switch.by_level {
            let force = word == SmtControl::ForceOff;
            (level > before, level < before || force)
        } else {
            let changes = self.switch.word.as_ref() != Some(&word);
            (changes && word == SmtControl::On, changes && word != SmtControl::On)
        };
        if more {
            self.switch.word = Some(SmtControl::On);
            self.enable()
        } else if fewer {
            self.disable(&word)?;
            self.switch.word = Some(word);
            Ok(())
        } else {
            Ok(())
        }
    }

    /// `cpuhp_smt_enable`: every CPU that may run, also one that was offline by hand.
    fn enable(&mut self) -> Result<(), Errno> {
        for thread in self.threads.clone() {
            let asleep = self.switch.any_level && !self.core_is_online(&thread);
            if self.online.contains(thread.cpu) || !self.within_level(&thread) || asleep {
                continue;
            }
            self.bring_online(thread.cpu)?;
        }
        Ok(())
    }

    /// `cpuhp_smt_disable`: secondary threads, until one refuses.
    fn disable(&mut self, word: &SmtControl) -> Result<(), Errno> {
        for thread in self.threads.clone() {
            let stays = *word == SmtControl::On && self.within_level(&thread);
            if !self.online.contains(thread.cpu) || self.is_first(&thread) || stays {
                continue;
            }
            self.set_offline(thread.cpu)?;
        }
        Ok(())
    }

    /// `online_store` of a CPU.
    pub(super) fn write_online(&mut self, folder: &str, text: &str) -> Result<(), Errno> {
        let cpu = folder.strip_prefix("cpu").and_then(|number| number.parse().ok());
        let cpu = CpuId(cpu.ok_or(Errno::NOENT)?);
        let thread = self.threads.iter().find(|thread| thread.cpu == cpu).cloned();
        let thread = thread.ok_or(Errno::NOENT)?;
        match (text, self.online.contains(cpu)) {
            ("1", true) | ("0", false) => Ok(()),
            ("1", false) if !self.may_run(&thread) => Err(Errno::PERM),
            ("1", false) => self.bring_online(cpu),
            ("0", true) => self.set_offline(cpu),
            _ => Err(Errno::INVAL),
        }
    }

    /// `cpu_bootable`.
    fn may_run(&self, thread: &Thread) -> bool {
        match self.switch.word {
            Some(SmtControl::On) => self.within_level(thread),
            Some(SmtControl::Off | SmtControl::ForceOff) => self.is_first(thread),
            _ => true,
        }
    }

    /// The threads of a core before this one.
    fn rank(&self, thread: &Thread) -> usize {
        let same = |other: &&Thread| other.core == thread.core && other.cpu < thread.cpu;
        self.threads.iter().filter(same).count()
    }

    fn is_first(&self, thread: &Thread) -> bool {
        self.rank(thread) == 0
    }

    fn within_level(&self, thread: &Thread) -> bool {
        !self.switch.any_level || self.rank(thread) < self.switch.level as usize
    }

    fn core_is_online(&self, thread: &Thread) -> bool {
        let same = |other: &&Thread| other.core == thread.core;
        self.threads.iter().filter(same).any(|other| self.online.contains(other.cpu))
    }

    fn bring_online(&mut self, cpu: CpuId) -> Result<(), Errno> {
        self.check_stuck(cpu)?;
        self.online.insert(cpu);
        self.follow();
        Ok(())
    }

    fn set_offline(&mut self, cpu: CpuId) -> Result<(), Errno> {
        self.check_stuck(cpu)?;
        if self.online.len() == 1 {
            return Err(Errno::BUSY);
        }
        self.take_offline(&[cpu].into_iter().collect());
        Ok(())
    }

    pub(super) fn take_offline(&mut self, cpus: &CpuSet) {
        self.online = self.online.difference(cpus);
        self.follow();
    }

    fn check_stuck(&self, cpu: CpuId) -> Result<(), Errno> {
        let stuck = self.faults.iter().find_map(|fault| match fault {
            Fault::Stuck(stuck, errno) if *stuck == cpu => Some(*errno),
            _ => None,
        });
        stuck.map_or(Ok(()), Err)
    }
}
