//! `orchestra provisioners`

mod list;
mod test;

use orchestra_core::provision::template::builtin;

use super::{platform::with_platform, print};
use crate::{
    args::{Provisioners, Target},
    error::CliError,
    exit::Exit,
};
use list::ProvisionerFiles;

pub(crate) fn run(args: &Provisioners) -> Result<Exit, CliError> {
    match args {
        Provisioners::List { builtin: true, output, .. } => {
            list::print(&[], &ProvisionerFiles::default(), *output)
        }
        Provisioners::List { target, output, .. } => with_platform(target, async |platform| {
            let config = list::config(&platform.client).await?;
            let files = ProvisionerFiles::read(&platform.client).await?;
            list::print(config.provisioners(), &files, *output)
        }),
        Provisioners::Show { name, builtin, target } => show(name, *builtin, target),
        Provisioners::Test(args) => test::run(args),
    }
}

fn show(name: &str, only_builtin: bool, target: &Target) -> Result<Exit, CliError> {
    if only_builtin {
        return print_file(name, &ProvisionerFiles::default());
    }
    with_platform(target, async |platform| print_file(name, &ProvisionerFiles::read(&platform.client).await?))
}

/// Prints the file with an entry of this URI or type: one of the platform, or a built-in one.
fn print_file(name: &str, files: &ProvisionerFiles) -> Result<Exit, CliError> {
    let text = files.text_with(name).map(ToOwned::to_owned).or_else(|| {
        let built_in = builtin::FILES.iter().find(|(_, text)| {
            orchestra_core::template::load(text).is_ok_and(|entries| list::has_entry(&entries, name))
        });
        built_in.map(|(_, text)| (*text).to_owned())
    });
    print(&text.ok_or_else(|| CliError::NoProvisioner(name.to_owned()))?)
}
