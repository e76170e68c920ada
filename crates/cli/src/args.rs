//! What can be said on the command line. The texts here are the help, the completions and the reference.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

/// Run Score workloads anywhere.
///
/// A developer writes one Score file; the platform validates it, resolves what it depends on, picks a runtime and
/// runs it there.
#[derive(Debug, Parser)]
#[command(name = "orchestra", version, propagate_version = false)]
#[command(after_help = "Exit codes: 0 yes, 1 the answer is no or the input is bad, 2 wrong usage.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Validate(Validate),
    Init(Init),
    Serve(Serve),
    /// Print the JSON Schema of Score files, for editors
    ///
    /// For editors with the YAML language server, save it and name it in the first line of a Score file:
    ///
    ///   orchestra schema > .score.schema.json
    ///
    ///   # yaml-language-server: $schema=.score.schema.json
    #[command(verbatim_doc_comment)]
    Schema,
    /// Print the version of this program and of the Score specification it knows
    Version {
        /// How to print it
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// Print a completion script for a shell
    ///
    ///   bash:        source <(orchestra completion bash)
    ///   zsh:         orchestra completion zsh > "${fpath[1]}/_orchestra"
    ///   fish:        orchestra completion fish > ~/.config/fish/completions/orchestra.fish
    ///   powershell:  orchestra completion powershell | Out-String | Invoke-Expression
    #[command(verbatim_doc_comment)]
    Completion {
        /// The shell
        shell: Shell,
    },
}

/// Check Score files, and say everything that is wrong with them
///
/// Files are checked against the Score specification (score.dev/v1b1 at 0.4.1),
/// and for what no schema can see: placeholders that refer to nothing, containers
/// that wait for each other, ports that clash.
///
///   orchestra validate                             checks ./score.yaml
///   orchestra validate a.yaml b.yaml               checks several files
///   cat score.yaml | orchestra validate -          checks standard input
///   orchestra validate -o json | jq '.files[].errors'
///
/// Every kind of finding has a page under docs/errors/.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 all files are valid, 1 some file is not or cannot be read, 2 wrong usage."
)]
pub(crate) struct Validate {
    /// Score files, YAML or JSON; `-` is standard input
    #[arg(value_name = "FILE", default_value = "score.yaml", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// A file whose values are laid over the Score file; maps are merged, everything else is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) overrides_file: Option<PathBuf>,

    /// A single value to set, such as containers.main.image=nginx; the value is YAML, an empty one removes
    ///
    /// A dot inside a key is written \. and a number is an index into a list, where -1 appends. Can be repeated.
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) override_property: Vec<String>,

    /// The image for the containers whose image is `.`
    #[arg(short, long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Say what a valid file describes: containers in their order, ports, what it depends on (for people only)
    #[arg(long)]
    pub(crate) explain: bool,

    /// How to print the findings
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// Write a commented sample Score file
///
///   orchestra init && orchestra validate --explain
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Init {
    /// Where to write it
    #[arg(value_name = "FILE", default_value = "score.yaml", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Overwrite the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// Serve a Kubernetes-style API from this machine, without a cluster
///
/// Any kubectl and any controller can use it: definitions of custom kinds, namespaces,
/// secrets, config maps, events, leases and service accounts, with watches, server-side
/// apply and validation as on a real cluster. Nothing is run: there are no pods.
///
///   orchestra serve
///   export KUBECONFIG=~/.local/share/orchestra/kubeconfig
///   kubectl api-resources
///
/// The first start makes a certificate authority and a kubeconfig in the data folder,
/// readable for you alone. Every write that was answered survives a crash.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// Where everything is kept [default: orchestra in the data folder of the user, ~/.local/share]
    #[arg(long, value_name = "FOLDER", env = "ORCHESTRA_DATA_DIR", value_hint = ValueHint::DirPath)]
    data_dir: Option<PathBuf>,

    /// The address to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7443")]
    pub(crate) listen: SocketAddr,
}

impl Serve {
    /// The data folder.
    pub(crate) fn data_dir(&self) -> Result<PathBuf, String> {
        if let Some(folder) = &self.data_dir {
            return Ok(folder.clone());
        }
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("XDG_DATA_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".local/share")))
            .map(|base| base.join("orchestra"))
            .ok_or_else(|| "there is no home folder to keep data in; name one with --data-dir".to_owned())
    }
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people
    #[default]
    Human,
    /// One JSON document, for programs
    Json,
}
