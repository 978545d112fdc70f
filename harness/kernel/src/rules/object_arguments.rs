//! Arguments that are shown back are a complete JSON object. What the model truly
//! wrote stands in the call's result.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{Cuts, Repair, Rule, calls};
use crate::view::{Said, Shown};

pub(super) const RULE: Rule =
    Rule { name: "object_arguments", check, repair: Repair::InPlace(repair), cuts: Cuts::Anywhere };

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    for (at, message) in shown.iter().enumerate() {
        let unreadable = calls(message).iter().filter(|call| !is_object(&call.arguments));
        broken.extend(unreadable.map(|call| (at, format!("arguments of {:?}", call.id))));
    }
    broken
}

fn repair(shown: &mut [Shown<'_>]) {
    for message in shown.iter_mut() {
        let Said::Assistant { calls, .. } = &mut message.said else { continue };
        if calls.iter().all(|call| is_object(&call.arguments)) {
            continue;
        }
        for call in calls.to_mut().iter_mut().filter(|call| !is_object(&call.arguments)) {
            "{}".clone_into(&mut call.arguments);
        }
    }
}

/// Every request asks this of every call, so nothing is built of what is read.
fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<AnyObject>(arguments).is_ok()
}

struct AnyObject;

impl<'de> Deserialize<'de> for AnyObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for AnyObject {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(self)
    }
}
