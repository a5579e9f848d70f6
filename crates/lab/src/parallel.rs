//! Independent calculations on all CPUs, results in the order of their inputs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Calls the function for every item, on as many threads as there are CPUs. `done` hears after each
/// how many are done.
pub(crate) fn map<Item: Sync, Out: Send>(
    items: &[Item],
    calculate: impl Fn(&Item) -> Out + Sync,
    done: impl FnMut(usize),
) -> Vec<Out> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    map_by(cpus, items, calculate, done)
}

pub(crate) fn map_by<Item: Sync, Out: Send>(
    threads: usize,
    items: &[Item],
    calculate: impl Fn(&Item) -> Out + Sync,
    mut done: impl FnMut(usize),
) -> Vec<Out> {
    let workers = threads.max(1).min(items.len());
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<Out>> = items.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..workers {
            let (sender, next, calculate) = (sender.clone(), &next, &calculate);
            scope.spawn(move || {
                while let Some((index, item)) = Some(next.fetch_add(1, Ordering::Relaxed))
                    .and_then(|i| Some((i, items.get(i)?)))
                {
                    if sender.send((index, calculate(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (count, (index, result)) in receiver.into_iter().enumerate() {
            results[index] = Some(result);
            done(count + 1);
        }
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let mut heard = Vec::new();
        let squares = super::map(&items, |item| item * item, |done| heard.push(done));
        assert_eq!(squares, items.iter().map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(heard, (1..=100).collect::<Vec<_>>());
        assert!(super::map(&[], |item: &u64| *item, |_| {}).is_empty());
    }
}
