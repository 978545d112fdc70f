//! Addresses that somebody else listens on.

use std::net::TcpListener;

use super::attempt::{Attempt, Place, assert_says};

/// A listener, and its address.
fn taken() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

#[tokio::test]
async fn the_api_names_a_port_in_use_before_it_touches_its_data() {
    let place = Place::new();
    let (_listener, address) = taken();
    let line = Attempt::api(&place).set("FOUNDRY_API_LISTEN", &address).refusal().await;
    assert_says(&line, &[&address, "in use", "FOUNDRY_API_LISTEN"]);
}

#[tokio::test]
async fn the_operator_names_a_port_in_use() {
    let place = Place::new();
    let (_listener, address) = taken();
    let line = Attempt::operator(&place).set("FOUNDRY_OPERATOR_LISTEN", &address).refusal().await;
    assert_says(&line, &[&address, "in use", "FOUNDRY_OPERATOR_LISTEN"]);
}

#[tokio::test]
async fn the_scripted_model_names_a_port_in_use() {
    let place = Place::new();
    let (_listener, address) = taken();
    let attempt = Attempt::scripted_model(&place, "rules: []").argument("--listen");
    let line = attempt.argument(&address).refusal().await;
    assert_says(&line, &[&address, "in use"]);
}
