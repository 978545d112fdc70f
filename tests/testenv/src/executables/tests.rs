use pretty_assertions::assert_eq;

use super::*;

const MANIFEST: &str = "module kube\n\ngo 1.26.0\n\nrequire (\n\tk8s.io/kubernetes v1.37.2\n)\n";

fn module(main: &str) -> GoModule {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("go.mod", MANIFEST), ("go.sum", "sums"), ("main.go", main)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    GoModule::read(folder.path(), "k8s.io/kubernetes", "control-plane").unwrap()
}

#[test]
fn what_was_built_is_kept_under_its_version_and_the_digest_of_its_files() {
    let folder = module("package main").folder().unwrap();
    let key = folder.file_name().unwrap().to_str().unwrap();
    assert!(key.starts_with("v1.37.2-"), "{key}");
    assert_eq!(folder, module("package main").folder().unwrap());
}

#[test]
fn a_changed_file_is_built_anew() {
    assert_ne!(module("package main").folder().unwrap(), module("package kube").folder().unwrap());
}

#[test]
fn a_version_that_go_mod_does_not_name_is_an_error() {
    let error = module("package main").version_of("k8s.io/kube").unwrap_err().to_string();
    assert!(error.ends_with("/go.mod does not require k8s.io/kube"), "{error}");
}

#[test]
fn the_module_in_the_checkout_names_its_kubernetes() {
    let module = GoModule::control_plane().unwrap();
    assert!(module.version_of("k8s.io/kubernetes").unwrap().starts_with("v1."));
}

#[test]
fn what_is_built_as_its_makers_wrote_it_has_no_program_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = "require (\n\thelm.sh/helm/v4 v4.3.1 // indirect\n)\n";
    for (name, text) in [("go.mod", manifest), ("go.sum", "sums")] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let module = GoModule::read(folder.path(), "helm.sh/helm/v4", "helm").unwrap();
    let key = module.folder().unwrap();
    assert!(key.parent().unwrap().ends_with("foundry/helm"), "{key:?}");
    assert!(key.file_name().unwrap().to_str().unwrap().starts_with("v4.3.1-"), "{key:?}");
}

#[test]
fn the_module_in_the_checkout_names_its_helm() {
    assert!(GoModule::helm().unwrap().version().unwrap().starts_with("v4."));
}

#[test]
fn the_module_in_the_checkout_names_its_kwok() {
    assert!(GoModule::kwok().unwrap().version().unwrap().starts_with("v0."));
}
