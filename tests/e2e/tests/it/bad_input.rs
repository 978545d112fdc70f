//! Bad input, given to the real executables: each refuses with one line that says
//! what is wrong and what to do, a status other than 0, and nothing left behind.

#[path = "bad_input/attempt.rs"]
mod attempt;
#[path = "bad_input/database.rs"]
mod database;
#[path = "bad_input/folders.rs"]
mod folders;
#[path = "bad_input/full_disk.rs"]
mod full_disk;
#[path = "bad_input/kubeconfigs.rs"]
mod kubeconfigs;
#[path = "bad_input/older_schema.rs"]
mod older_schema;
#[path = "bad_input/ports.rs"]
mod ports;
#[path = "bad_input/settings.rs"]
mod settings;
#[path = "bad_input/tools.rs"]
mod tools;
