//! The built-in profiles, files in `profiles/`: the note's pair, the article's suites, kernels, AIM9's rows.

use super::Profile;
use crate::built_in::built_in;

built_in! { Profile in "../../../profiles/":
    "gzip", "gzip-words", "gzip-source", "gzip-binary", "perl-loop", "syscall", "chat",
    "dbench", "tbench", "sieve", "fadd-chain", "imul-chain", "spin", "spin-pause", "pointer-chase",
    "stack-alias-64k", "stack-offset", "lock-handoff", "lock-handoff-pause", "add_double",
    "add_float", "add_long", "add_int", "add_short", "mul_double", "mul_float", "mul_long",
    "mul_int", "mul_short", "div_double", "div_float", "div_long", "div_int", "div_short",
    "fun_cal", "jmp_test", "sysbench-cpu", "memcached", "x265", "stockfish", "postgres", "p7zip", "sysbench-memory",
    "openblas-dgemm", "pointer-chase-256m",
    "list-walk",
}
