//! `--load-curve`: the rates at which a service is offered requests.

use coretwin_base::study::load::{Objective, Rate};
use coretwin_lab::request::LoadRequest;

/// Rates as typed, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Curve(Vec<Rate>);

pub(crate) fn curve(text: &str) -> Result<Curve, String> {
    Rate::curve(text).map(Curve)
}

impl Curve {
    pub(super) fn has_shares(&self) -> bool {
        self.0.iter().any(|rate| matches!(rate, Rate::Share(_)))
    }

    pub(super) fn request(self, slo: Option<Objective>) -> LoadRequest {
        LoadRequest { rates: self.0, slo }
    }
}
