//! Plans of the experiment, drawn and run on a scripted machine.
