//! A micro-operation: the unit in which work enters the simulated core.

named! {
/// What a micro-operation needs to execute: which ports, which unit, which latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Class {
    /// Takes a place in the window, needs no port and has no result.
    #[default]
    Nop = "nop",
    /// Add, compare, logic, move.
    IntAlu = "int_alu",
    /// Shift and rotate (slow on NetBurst).
    IntShift = "int_shift",
    /// Integer multiply.
    IntMul = "int_mul",
    /// Integer divide.
    IntDiv = "int_div",
    /// Floating-point add.
    FpAdd = "fp_add",
    /// Floating-point multiply.
    FpMul = "fp_mul",
    /// Floating-point divide and square root.
    FpDiv = "fp_div",
    /// Integer vector operation.
    Vector = "vector",
    /// Load from memory.
    Load = "load",
    /// Store to memory: address and data as one.
    Store = "store",
    /// Conditional or unconditional branch.
    Branch = "branch",
    /// Locked read-modify-write: waits for older work and for the store buffer, then executes.
    Atomic = "atomic",
}
}

impl Class {
    /// Whether a result goes to the integer (`Some(false)`) or floating-point (`Some(true)`)
    /// register file, or to none.
    pub fn writes_float_register(self) -> Option<bool> {
        match self {
            Self::Nop | Self::Store | Self::Branch => None,
            Self::FpAdd | Self::FpMul | Self::FpDiv | Self::Vector => Some(true),
            Self::IntAlu
            | Self::IntShift
            | Self::IntMul
            | Self::IntDiv
            | Self::Load
            | Self::Atomic => Some(false),
        }
    }
}

/// What a micro-operation does besides executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Effect {
    /// Nothing more.
    #[default]
    None,
    /// A branch that is taken. (A [`Class::Branch`] without this effect is not taken.)
    Taken,
    /// The thread asks to be slowed: it renames nothing for the preset's `pause_cycles`.
    Pause,
    /// The thread halts for [`Uop::address`] cycles (0: for ever). Partitioned resources are
    /// given to the siblings that are awake.
    Halt,
    /// From user to kernel mode: waits for older work, then costs the preset's entry cycles.
    EnterKernel,
    /// Back to user mode: waits for older work, then costs the preset's exit cycles.
    LeaveKernel,
    /// Takes lock [`Uop::argument`], whose word is at [`Uop::address`]; while a sibling holds it
    /// the thread spins on the word (load, test, branch). A [`Class::Atomic`].
    Acquire,
    /// As `Acquire`, with a PAUSE in each round of the spin.
    AcquirePausing,
    /// Gives lock [`Uop::argument`] back, when this [`Class::Store`] becomes visible.
    Release,
}

/// One micro-operation (in x86 terms: a fused one, the unit of rename and retirement).
///
/// A branch's site is its code address: the predictor knows no other name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Uop {
    /// Linear data address of a load, store or atomic, below 2^47; with bit 47 set, kernel data,
    /// which all address spaces share. Otherwise 0.
    pub address: u64,
    /// Linear code address; with bit 31 set, kernel code, which all address spaces share.
    pub code: u32,
    /// How many micro-operations back, in this thread's stream, each source was produced; 0: no
    /// such source. For loads and stores the first source is the address.
    pub sources: [u16; 2],
    /// What it needs to execute.
    pub class: Class,
    /// What else it does.
    pub effect: Effect,
    /// The lock's number, for the effects that name one.
    pub argument: u16,
}

/// Bit of [`Uop::address`] that marks kernel data.
pub const KERNEL_DATA: u64 = 1 << 47;

/// Bit of [`Uop::code`] that marks kernel code.
pub const KERNEL_CODE: u32 = 1 << 31;

impl Uop {
    /// A micro-operation of this class at this code address, with no source and no effect.
    pub const fn new(class: Class, code: u32) -> Self {
        Self { address: 0, code, sources: [0, 0], class, effect: Effect::None, argument: 0 }
    }

    /// The same, with these sources.
    pub const fn after(mut self, first: u16, second: u16) -> Self {
        self.sources = [first, second];
        self
    }

    /// The same, at this data address.
    pub const fn at(mut self, address: u64) -> Self {
        self.address = address;
        self
    }

    /// The same, with this effect.
    pub const fn with(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }
}
