//! `orchestra explain`

use http::Method;

use super::{platform::with_platform, show};
use crate::{args::Explain, error::CliError, exit::Exit};

pub(crate) fn run(args: &Explain) -> Result<Exit, CliError> {
    with_platform(&args.target, async |platform| {
        let response = platform.query(Method::GET, &args.name, "explain", Vec::new(), args.output).await?;
        show::response(&response.text, args.output)
    })
}
