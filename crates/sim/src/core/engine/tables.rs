//! What the engine reads of a preset in every cycle, precomputed.

use super::pool::{Credits, name};
use super::thread::Slot;
use super::{MAX_STORES, NEVER, Preset};
use crate::core::Class;
use crate::core::preset::WritePolicy;

pub(super) const MAX_PORTS: usize = 16;

/// Per class, as small fixed arrays. Times are in ticks.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    pub(super) latency: [u64; Class::COUNT],
    /// Ticks until the group's one unit is free again; 0 where it is pipelined.
    pub(super) interval: [u64; Class::COUNT],
    /// Groups that have one unit that is not pipelined.
    pub(super) single_units: u16,
    /// Classes that go to the same ports are one group; the groups are numbered from 0.
    pub(super) group: [u8; Class::COUNT],
    pub(super) group_count: usize,
    /// Ports of each group. Ports are renumbered so that the least versatile come first: of the
    /// free ports the lowest is taken, and the versatile ones stay free for others.
    pub(super) group_ports: [u16; MAX_PORTS],
    /// By the set of ports that are free: the groups that find none.
    pub(super) closed: Box<[u16]>,
    pub(super) ports: u16,
    pub(super) fast_ports: u16,
    /// Pools of which each class takes an entry at rename: one of each, and in the order in which
    /// they are asked; the first stands in the places behind the last, too.
    pub(super) takes: [u128; Class::COUNT],
    pub(super) pools: [[u8; 4]; Class::COUNT],
    /// What a micro-operation of each class is when it enters the window.
    pub(super) slots: [Slot; Class::COUNT],
    pub(super) scheduler: [u8; Class::COUNT],
    /// How many retired stores may have asked for their lines before they are written, the oldest among
    /// them; 0: none does. Where the first level writes through, stores that miss wait in the buffers in
    /// which writes are combined.
    pub(super) asks_ahead: u32,
    /// Whether rename says which port a micro-operation goes to. Then every port is a group.
    pub(super) binds: bool,
    /// The ports that it may say, where there are several; and the group of each port.
    pub(super) choices: [u16; Class::COUNT],
    pub(super) port_group: [u8; MAX_PORTS],
    /// By group: the one of its port.
    pub(super) counted_as: [u8; MAX_PORTS],
}

impl Tables {
    pub(super) fn new(preset: &Preset, ticks_per_cycle: u64) -> Self {
        let asks_ahead = match preset.memory.write_policy {
            WritePolicy::Back => MAX_STORES as u32,
            WritePolicy::Through => u32::from(preset.memory.write_combining),
        };
        let mut tables = Self { asks_ahead, ..Self::default() };
        let order = ports_by_versatility(preset);
        for class in Class::ALL {
            let execution = preset.execution[class as usize];
            tables.latency[class as usize] =
                u64::from(execution.latency_half_cycles) * ticks_per_cycle / 2;
            tables.interval[class as usize] =
                u64::from(execution.interval_cycles) * ticks_per_cycle;
            tables.ports |= renumber(execution.ports, &order);
        }
        tables.fast_ports =
            if preset.double_pumped { renumber(preset.fast_ports, &order) } else { 0 };
        tables.set_groups(preset, &order);
        tables.set_slots(preset);
        tables
    }

    fn set_groups(&mut self, preset: &Preset, order: &[usize; MAX_PORTS]) {
        self.binds = preset.binds_ports_at_rename;
        for port in 0..MAX_PORTS {
            if self.binds && self.ports >> port & 1 == 1 {
                self.group_ports[self.group_count] = 1 << port;
                self.port_group[port] = self.group_count as u8;
                self.counted_as[self.group_count] = self.group_count as u8;
                self.group_count += 1;
            }
        }
        for class in Class::ALL {
            let ports = renumber(preset.execution[class as usize].ports, order);
            if self.binds && preset.execution[class as usize].interval_cycles == 0 {
                self.choices[class as usize] = if ports.count_ones() > 1 { ports } else { 0 };
                let port = ports.trailing_zeros() as usize;
                self.group[class as usize] = self.port_group[port % MAX_PORTS];
                continue;
            }
            let execution = preset.execution[class as usize];
            let alike = |other: &Class| {
                execution.interval_cycles == 0
                    && preset.execution[*other as usize].interval_cycles == 0
                    && preset.execution[*other as usize].ports == execution.ports
            };
            let earlier = Class::ALL[..class as usize].iter().find(|other| alike(other));
            self.group[class as usize] = if let Some(other) = earlier {
                self.group[*other as usize]
            } else {
                self.group_ports[self.group_count] = ports;
                self.counted_as[self.group_count] =
                    self.port_group[ports.trailing_zeros() as usize % MAX_PORTS];
                self.single_units |= u16::from(execution.interval_cycles > 0) << self.group_count;
                self.group_count += 1;
                self.group_count as u8 - 1
            };
        }
        let sets = 1usize << (16 - self.ports.leading_zeros());
        let none_free = |ports: usize| {
            let group_ports = self.group_ports[..self.group_count].iter().enumerate();
            group_ports.fold(0, |closed, (group, wanted)| {
                closed | u16::from(usize::from(*wanted) & ports == 0) << group
            })
        };
        self.closed = (0..sets).map(none_free).collect();
    }

    fn set_slots(&mut self, preset: &Preset) {
        for class in Class::ALL {
            self.slots[class as usize] = Slot {
                complete: NEVER,
                consumers: u16::MAX,
                next: [u16::MAX; 3],
                class,
                group: self.group[class as usize],
                ..Slot::default()
            };
            let mut pools = vec![name::REORDER_BUFFER];
            let scheduler =
                preset.schedulers.iter().position(|scheduler| scheduler.classes.contains(&class));
            if let Some(index) = scheduler.filter(|_| class != Class::Nop) {
                pools.push(name::SCHEDULERS + index);
                self.scheduler[class as usize] = (name::SCHEDULERS + index) as u8;
            }
            match class {
                Class::Load | Class::Atomic => pools.push(name::LOAD_BUFFER),
                Class::Store => pools.push(name::STORE_BUFFER),
                _ => {}
            }
            match class.writes_float_register() {
                Some(true) if preset.float_registers.is_some() => pools.push(name::FLOAT_REGISTERS),
                Some(false) if preset.integer_registers.is_some() => {
                    pools.push(name::INTEGER_REGISTERS);
                }
                _ => {}
            }
            for (byte, pool) in super::retire::GIVEN.iter().enumerate() {
                self.slots[class as usize].gives |= u32::from(pools.contains(pool)) << (8 * byte);
            }
            self.pools[class as usize] = [pools[0] as u8; 4];
            for (place, pool) in pools.into_iter().enumerate() {
                self.takes[class as usize] |= Credits::one(pool);
                self.pools[class as usize][place] = pool as u8;
            }
        }
    }
}

/// The preset's port numbers, those that accept the fewest classes first.
fn ports_by_versatility(preset: &Preset) -> [usize; MAX_PORTS] {
    let mut order = [0; MAX_PORTS];
    for (port, place) in order.iter_mut().enumerate() {
        *place = port;
    }
    let classes =
        |port: &usize| preset.execution.iter().filter(|unit| unit.ports >> port & 1 == 1).count();
    order.sort_by_key(classes);
    order
}

fn renumber(ports: u16, order: &[usize; MAX_PORTS]) -> u16 {
    let bit = |(place, port): (usize, &usize)| (ports >> port & 1) << place;
    order.iter().enumerate().map(bit).fold(0, |all, bit| all | bit)
}
