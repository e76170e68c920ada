//! `orchestra provisioners`

mod list;
mod test;

use std::io::{self, Write as _};

use orchestra_core::provision::template::builtin;

use super::platform::{Trouble, with_platform};
use crate::{
    args::{Provisioners, Target},
    exit::{Exit, after_writing},
};
use list::Files;

pub(crate) fn run(args: &Provisioners) -> Exit {
    match args {
        Provisioners::List { builtin: true, output, .. } => list::print(&[], &Files::default(), *output),
        Provisioners::List { target, output, .. } => with_platform(target, async |platform| {
            let document = list::document(&platform.client).await?;
            let files = Files::read(&platform.client).await?;
            Ok(list::print(document.provisioners(), &files, *output))
        }),
        Provisioners::Show { name, builtin, target } => show(name, *builtin, target),
        Provisioners::Test(args) => test::run(args),
    }
}

fn show(name: &str, only_builtin: bool, target: &Target) -> Exit {
    if only_builtin {
        return shown(name, &Files::default());
    }
    with_platform(target, async |platform| Ok(shown(name, &Files::read(&platform.client).await?)))
}

/// Prints the file with an entry of this URI or for this type: one of the platform's, else one that is built in.
fn shown(name: &str, files: &Files) -> Exit {
    let own = files.good.values().find(|(entries, _)| list::is_meant(entries, name));
    let text = own.map(|(_, text)| text.clone()).or_else(|| {
        let built_in = builtin::FILES.iter().find(|(_, text)| {
            orchestra_core::template::load(text).is_ok_and(|entries| list::is_meant(&entries, name))
        });
        built_in.map(|(_, text)| (*text).to_owned())
    });
    match text {
        Some(text) => after_writing(io::stdout().lock().write_all(text.as_bytes()), Exit::Yes),
        None => Trouble::No(format!(
            "no provisioner file has an entry for `{name}`; `orchestra provisioners list` shows what there is"
        ))
        .tell(),
    }
}
