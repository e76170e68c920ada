//! `orchestra explain`

use http::Method;

use super::{platform::with_platform, show};
use crate::{args::Explain, exit::Exit};

pub(crate) fn run(args: &Explain) -> Exit {
    with_platform(&args.target, async |platform| {
        let answer = platform.ask(Method::GET, &args.name, "explain", Vec::new(), args.output).await?;
        Ok(show::answer(&answer.text, args.output))
    })
}
