//! What a study's readings become: attempts, effects, looks, warnings, words.

mod attempts;
mod effects;
mod fixture;
mod looks;
mod machines;

mod properties;
mod sentences;
mod split;
mod variants;
mod warnings;
