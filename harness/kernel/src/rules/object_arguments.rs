//! Arguments that are shown back are a complete JSON object. What the model truly
//! wrote stands in the call's result.

use foundry_llm::Message;
use serde_json::{Map, Value};

use super::{Repair, Rule, calls};
use crate::view::Shown;

pub(super) const RULE: Rule =
    Rule { name: "object_arguments", check, repair: Repair::InPlace(repair) };

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    for (at, message) in shown.iter().enumerate() {
        let unreadable = calls(message).iter().filter(|call| !is_object(&call.arguments));
        broken.extend(unreadable.map(|call| (at, format!("arguments of {:?}", call.id))));
    }
    broken
}

fn repair(shown: &mut [Shown]) {
    for message in shown.iter_mut() {
        let Message::Assistant { calls, .. } = &mut message.message else { continue };
        for call in calls.iter_mut().filter(|call| !is_object(&call.arguments)) {
            "{}".clone_into(&mut call.arguments);
        }
    }
}

fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}
