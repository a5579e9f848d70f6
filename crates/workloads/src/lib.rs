//! The measured work: chat and a command of the user
