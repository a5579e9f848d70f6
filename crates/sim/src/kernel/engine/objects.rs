//! Steps that use sockets, semaphores, locks and barriers.

use super::steps::Next;
use super::{Engine, Run};
use crate::kernel::{Cause, CpuId, TaskId, Waiting, Which};

impl Engine<'_> {
    /// Sends to a socket, or receives from it, what there is room or bytes for; the rest waits.
    pub(super) fn transfer(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        which: Which,
        sends: bool,
    ) -> Run<Next> {
        let index = self.object(task, which, self.sockets.len(), "socket")?;
        let socket = &mut self.sockets[index];
        let own = &mut self.tasks[task.index()];
        let moved = if sends { socket.put(own.amount) } else { socket.take(own.amount) };
        // Room that is left is another writer's, bytes that are left another reader's.
        let also = match sends {
            true if moved.bytes == 0 => None,
            true => socket.next_writer(),
            false => socket.next_reader(),
        };
        let sync = sends && socket.spec.sync;
        own.segments_ns += moved.half_ways * socket.spec.segment_ns / 2;
        own.amount -= moved.bytes;
        let next = match (own.amount, sends) {
            (0, _) => Next::Goes,
            (_, true) => {
                socket.writers.push_back(task);
                Next::Waits(Waiting::Room(index as u32))
            }
            (_, false) => {
                socket.readers.push_back(task);
                Next::Waits(Waiting::Bytes(index as u32))
            }
        };
        for woken in [moved.wakes, also].into_iter().flatten() {
            self.wake(woken, cpu, sync)?;
        }
        Ok(next)
    }

    pub(super) fn down(&mut self, task: TaskId, which: Which, count: u32) -> Run<Next> {
        let index = self.object(task, which, self.semaphores.len(), "semaphore")?;
        let answered = std::mem::take(&mut self.tasks[task.index()].answered);
        let has = answered || self.semaphores[index].down(task, count);
        Ok(if has { Next::Goes } else { Next::Waits(Waiting::Semaphore(index as u32)) })
    }

    pub(super) fn up(&mut self, cpu: CpuId, task: TaskId, which: Which, count: u32) -> Run<Next> {
        let index = self.object(task, which, self.semaphores.len(), "semaphore")?;
        self.semaphores[index].up(count);
        while let Some(woken) = self.semaphores[index].next() {
            self.answer(woken, cpu)?;
        }
        Ok(Next::Goes)
    }

    pub(super) fn lock(&mut self, cpu: CpuId, task: TaskId, which: Which) -> Run<Next> {
        let index = self.object(task, which, self.locks.len(), "lock")?;
        let paid = std::mem::take(&mut self.tasks[task.index()].answered);
        if self.locks[index].take(task) {
            self.tasks[task.index()].locks_held += 1;
            return Ok(Next::Goes);
        }
        if let Some(circle) = self.circle(task, index) {
            return Err(circle);
        }
        if !paid && self.machine.costs.system_call_ns > 0 {
            // Contended: into the kernel, and try again there.
            self.charge(cpu, self.machine.costs.system_call_ns);
            let own = &mut self.tasks[task.index()];
            own.answered = true;
            return Ok(Next::Jumps(own.step));
        }
        self.locks[index].waiters.push_back(task);
        Ok(Next::Waits(Waiting::Lock(index as u32)))
    }

    pub(super) fn unlock(&mut self, cpu: CpuId, task: TaskId, which: Which) -> Run<Next> {
        let index = self.object(task, which, self.locks.len(), "lock")?;
        match self.locks[index].give_back(task) {
            Err(()) => {
                let name = self.name_of(task);
                let what = format!("{name} gives back lock {index}, which it does not hold");
                Err(self.fail(Cause::Misuse, what))
            }
            Ok(waiter) => {
                self.tasks[task.index()].locks_held -= 1;
                if let Some(waiter) = waiter {
                    self.charge(cpu, self.machine.costs.system_call_ns);
                    self.wake(waiter, cpu, false)?;
                }
                Ok(Next::Goes)
            }
        }
    }

    pub(super) fn barrier(&mut self, cpu: CpuId, task: TaskId, which: Which) -> Run<Next> {
        let index = self.object(task, which, self.barriers.len(), "barrier")?;
        if std::mem::take(&mut self.tasks[task.index()].answered) {
            return Ok(Next::Goes);
        }
        match self.barriers[index].come(task) {
            None => Ok(Next::Waits(Waiting::Barrier(index as u32))),
            Some(others) => {
                for other in others {
                    self.answer(other, cpu)?;
                }
                Ok(Next::Goes)
            }
        }
    }

    /// Wakes a task for which was done what it waits for.
    pub(super) fn answer(&mut self, task: TaskId, here: CpuId) -> Run {
        self.tasks[task.index()].answered = true;
        self.wake(task, here, false)
    }
}
