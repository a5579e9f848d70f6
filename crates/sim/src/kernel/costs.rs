//! What the kernel's own work costs, as data of a machine.

use super::Distance;

/// Times of the kernel's work, alone on a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// Choosing the next task and switching to it within the same memory.
    pub switch_ns: u64,
    /// More, if the memory is another: page tables and translation buffers.
    pub switch_space_ns: u64,
    /// One step of a policy's work that grows with tasks or CPUs: a task scored by `goodness`, a
    /// queue looked at by a balancer.
    pub policy_step_ns: u64,
    /// Step cost once the data of the tasks scanned exceeds the caches, see
    /// [`Costs::policy_work_ns`].
    pub policy_far_step_ns: u64,
    /// Tasks scanned at once up to which a step costs the near time, and from which the far one.
    pub policy_far_steps: [u64; 2],
    /// From a wake-up until an idle CPU that halts runs: interrupt, leaving HLT.
    pub wake_halted_ns: u64,
    pub wake_polling_ns: u64,
    /// From telling a busy CPU to reschedule until it does.
    pub interrupt_processor_ns: u64,
    pub tick_ns: u64,
    pub interrupt_ns: u64,
    /// Writing one page back: finding it, preparing it for the disk, and its end; beyond the disk's
    /// interrupt, whose CPU does it.
    pub write_back_ns: u64,
    /// Entering and leaving the kernel, in every system call.
    pub system_call_ns: u64,
    pub wake_ns: u64,
    /// Sending or receiving on a socket, beyond the system call.
    pub socket_ns: u64,
    pub copy_kib_ns: u64,
    /// A semaphore operation, beyond the system call.
    pub semaphore_ns: u64,
    /// Making a process; and a thread.
    pub fork_ns: [u64; 2],
    /// More for a process whose page tables are not among those that its maker's CPU keeps, see
    /// [`Costs::page_tables_kept`]: finding memory for them and clearing it.
    pub page_tables_ns: u64,
    /// How many ended processes' page tables a CPU keeps, for the next processes made there (Linux 2.4 on i386: `pgd_quicklist`, `pte_quicklist`).
    pub page_tables_kept: u32,
    /// Copying the page that both parent and child write first after a fork. The parent does; the child
    /// does too if it is there before the parent has done.
    pub shared_page_ns: u64,
    pub exec_ns: u64,
    pub exit_ns: u64,
    pub page_ns: u64,
    /// A run of the stopper; above 0, or balancing that moves a task to and fro would never let time
    /// pass.
    pub stopper_ns: u64,
    /// Filling the caches of a core for a task that has all of them to fill anew; the profile says
    /// what part of that it needs. By distance from where it ran: the same core (others used it
    /// meanwhile), within the last-level cache, beyond it within the package, another package.
    pub refill_ns: [u64; 4],
    /// Time in which others that run on a core displace all of a task's data in its caches.
    pub displace_ns: u64,
}

impl Costs {
    #[inline]
    pub fn refill_after(&self, distance: Distance) -> u64 {
        match distance {
            Distance::SameCpu | Distance::SameCore => self.refill_ns[0],
            Distance::SameCache => self.refill_ns[1],
            Distance::SamePackage => self.refill_ns[2],
            Distance::OtherPackage => self.refill_ns[3],
        }
    }

    /// So many steps of a policy at once. Between the two numbers of tasks the time of a step grows
    /// evenly from near to far. Linux 2.4 had every task's data at the same offset in 8 KiB of memory,
    /// so that few of them fit into any cache together.
    #[inline]
    pub fn policy_work_ns(&self, steps: u64) -> u64 {
        let [from, to] = self.policy_far_steps;
        let (near_ns, far_ns) =
            (self.policy_step_ns, self.policy_far_step_ns.max(self.policy_step_ns));
        let step_ns = if steps <= from {
            near_ns
        } else if steps >= to {
            far_ns
        } else {
            near_ns + (far_ns - near_ns) * (steps - from) / (to - from)
        };
        steps * step_ns
    }

    /// The times that are one number, by their keys in a machine's file.
    pub(crate) fn times(&mut self) -> [(&'static str, &mut u64); 14] {
        let [fork_ns, thread_ns] = &mut self.fork_ns;
        [
            ("switch", &mut self.switch_ns),
            ("switch_space", &mut self.switch_space_ns),
            ("wake_halted", &mut self.wake_halted_ns),
            ("wake_polling", &mut self.wake_polling_ns),
            ("interrupt_processor", &mut self.interrupt_processor_ns),
            ("tick", &mut self.tick_ns),
            ("interrupt", &mut self.interrupt_ns),
            ("write_back", &mut self.write_back_ns),
            ("system_call", &mut self.system_call_ns),
            ("wake", &mut self.wake_ns),
            ("fork", fork_ns),
            ("thread", thread_ns),
            ("exec", &mut self.exec_ns),
            ("exit", &mut self.exit_ns),
        ]
    }

    /// No costs, but for the stopper's 5 µs: for hand-worked cases, where only the policy matters.
    pub fn none() -> Self {
        let policy_far_steps = [u64::MAX; 2];
        Self { policy_far_steps, stopper_ns: 5_000, displace_ns: 1, ..Self::default() }
    }

    /// Round numbers of the order of a processor of 2002 at 1.6 GHz: assumptions, not measurements.
    /// LMbench's context switches and system calls of that time were of this order.
    pub fn of_2002() -> Self {
        Self {
            switch_ns: 1_500,
            switch_space_ns: 1_000,
            policy_step_ns: 50,
            policy_far_step_ns: 50,
            wake_halted_ns: 2_000,
            wake_polling_ns: 500,
            interrupt_processor_ns: 1_500,
            tick_ns: 2_000,
            interrupt_ns: 5_000,
            system_call_ns: 1_000,
            wake_ns: 500,
            socket_ns: 10_000,
            copy_kib_ns: 1_000,
            semaphore_ns: 1_000,
            fork_ns: [200_000, 30_000],
            exec_ns: 500_000,
            exit_ns: 50_000,
            page_ns: 300,
            refill_ns: [50_000, 50_000, 100_000, 200_000],
            displace_ns: 1_000_000,
            ..Self::none()
        }
    }

    /// Round numbers of the order of a server of the 2020s: assumptions, not measurements.
    pub fn of_today() -> Self {
        Self {
            switch_ns: 1_000,
            switch_space_ns: 500,
            policy_step_ns: 20,
            policy_far_step_ns: 20,
            wake_halted_ns: 2_000,
            wake_polling_ns: 300,
            interrupt_processor_ns: 800,
            tick_ns: 1_000,
            interrupt_ns: 2_000,
            system_call_ns: 200,
            wake_ns: 300,
            socket_ns: 3_000,
            copy_kib_ns: 100,
            semaphore_ns: 300,
            fork_ns: [60_000, 10_000],
            exec_ns: 300_000,
            exit_ns: 20_000,
            page_ns: 100,
            stopper_ns: 2_000,
            refill_ns: [30_000, 30_000, 150_000, 300_000],
            displace_ns: 500_000,
            ..Self::none()
        }
    }
}
