//! Each of some things once.

/// Each once, in the order of its first appearance. For short lists, like arms and families: the time grows
/// with the square of what is left.
pub fn distinct<Item: PartialEq>(items: impl IntoIterator<Item = Item>) -> Vec<Item> {
    let mut once = Vec::new();
    for item in items {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}
