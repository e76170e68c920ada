//! What can be said on the command line. The texts here are the help, the completions and the reference.

mod cluster;
mod machine;
#[cfg(feature = "template")]
mod provisioners;

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub(crate) use cluster::{Cluster, Doctor, Install, Uninstall};
pub(crate) use machine::{Down, LogFormat, LogLevel, Serve, Up, data_dir, default_data_dir};
#[cfg(feature = "template")]
pub(crate) use provisioners::{Provisioners, Test as TestProvisioners};

/// Run Score workloads anywhere.
///
/// A developer writes one Score file; the platform validates it, resolves what it depends on, picks a runtime and
/// runs it there.
#[derive(Debug, Parser)]
#[command(name = "orchestra", version, propagate_version = false)]
#[command(
    after_help = "Exit codes: 0 yes, 1 the answer is no or the input is bad, 2 wrong usage, 3 the platform is unreachable."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Validate(Validate),
    Init(Init),
    Up(Up),
    Down(Down),
    Serve(Serve),
    Apply(Apply),
    Plan(Plan),
    Get(Get),
    Describe(Describe),
    Explain(Explain),
    Logs(Logs),
    Outputs(Outputs),
    Wait(Wait),
    Delete(Delete),
    Install(Install),
    Uninstall(Uninstall),
    Doctor(Doctor),
    /// Look after the platform's own document
    #[command(subcommand)]
    Config(Config),
    /// Look at who provides what workloads depend on
    #[cfg(feature = "template")]
    #[command(subcommand)]
    Provisioners(Provisioners),
    /// Print the definitions of the kinds, to install them on a cluster
    ///
    ///   orchestra crd | kubectl apply --server-side -f -
    #[command(verbatim_doc_comment)]
    Crd,
    /// Print the JSON Schema of Score files, for editors
    ///
    /// For editors with the YAML language server, save it and name it in the first line of a Score file:
    ///
    ///   orchestra schema > .score.schema.json
    ///
    ///   # yaml-language-server: $schema=.score.schema.json
    #[command(verbatim_doc_comment)]
    Schema,
    /// Print the version of this program, what it was built from, and the Score specification it implements
    ///
    ///   orchestra version -o json | jq -r .version
    #[command(verbatim_doc_comment)]
    Version {
        /// How to print it
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
    /// A small web server to take first steps with
    ///
    /// It listens on $PORT of this machine, and greets with $GREETING.
    ///
    ///   PORT=8000 GREETING=Hello orchestra sample-server
    #[command(hide = true, verbatim_doc_comment)]
    SampleServer,
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
/// that wait for each other, ports that clash, files and annotations that do not exist.
///
///   orchestra validate                             checks ./score.yaml
///   orchestra validate a.yaml b.yaml               checks several files
///   cat score.yaml | orchestra validate -          checks standard input
///   orchestra validate -o json | jq '.files[].errors'
///   orchestra validate --override-property containers.main.image=nginx
///
/// Every kind of finding has a page under docs/errors/.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 all files are valid, 1 some file is not or cannot be read, 2 wrong usage."
)]
pub(crate) struct Validate {
    #[command(flatten)]
    pub(crate) documents: Documents,

    /// Say what a valid file describes: containers in their order, ports, what it depends on (for people only)
    #[arg(long)]
    pub(crate) explain: bool,

    /// How to print the findings
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Output,
}

/// Score files, and what is laid over them.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Documents {
    /// Score files, YAML or JSON; `-` is standard input
    #[arg(value_name = "FILE", default_value = "score.yaml", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,

    /// A file whose values are laid over the Score file; maps are merged, everything else is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) overrides_file: Option<PathBuf>,

    /// A single value to set, such as containers.main.image=nginx; the value is YAML, an empty one removes
    ///
    /// A dot inside a key is written \., and a number is an index into a list, where -1 appends.
    /// Can be repeated:
    ///
    ///   --override-property 'containers.main.variables.DEBUG="true"'
    ///   --override-property 'metadata.annotations.score\.dev/profile=batch-job'
    ///   --override-property containers.main.args.-1=--verbose
    ///   --override-property service.ports.admin=
    #[arg(long, value_name = "PATH=VALUE", verbatim_doc_comment)]
    pub(crate) override_property: Vec<String>,

    /// The image for the containers whose image is `.`
    #[arg(short, long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,

    /// Take files that containers name with `source` from outside of the Score file's folder too
    #[arg(long)]
    pub(crate) allow_outside: bool,
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

/// Which platform is meant, and which part of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// The namespace [default: that of the kubeconfig]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// How to reach the platform [default: $KUBECONFIG, else the platform that `orchestra serve` runs here, else
    /// ~/.kube/config]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Where the platform's server is, which answers plan, explain, describe and logs [default: as the platform
    /// publishes it]
    #[arg(long, value_name = "URL", env = "ORCHESTRA_SERVER", value_parser = cluster::https)]
    pub(crate) server: Option<String>,

    /// Ask as the owner of this bearer token [default: as the kubeconfig says]
    #[arg(long, value_name = "TOKEN", env = "ORCHESTRA_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// Hand Score files to the platform, which then runs what they describe
///
/// The files are checked first; nothing is sent if one of them has a mistake. Files that
/// containers name with `source` are read from beside the Score file and sent along.
///
///   orchestra apply                                applies ./score.yaml
///   orchestra apply --wait                         and waits until it is ready
///   orchestra apply -n shop web.yaml worker.yaml
///   orchestra apply --image registry.example.org/web:7
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Apply {
    #[command(flatten)]
    pub(crate) documents: Documents,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Wait until the workloads are ready
    #[arg(long)]
    pub(crate) wait: bool,

    /// How long to wait, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,

    /// Take over fields that someone else has set
    #[arg(long)]
    pub(crate) force_conflicts: bool,

    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Show what apply would do, and do nothing
///
/// Asks the platform: the answer is the very decision that apply would carry out, with
/// every difference to what is there now, and how the workload would then stand.
///
///   orchestra plan score.yaml
///   orchestra plan web.yaml worker.yaml -o json    one list, with the name of each
///   orchestra plan --delete web
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 it would be taken, 1 it is invalid or a policy forbids it, 2 wrong usage, 3 the platform is unreachable."
)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) documents: Documents,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Show what deleting this workload would do instead
    #[arg(long, value_name = "WORKLOAD", conflicts_with_all = ["files", "overrides_file", "override_property", "image"])]
    pub(crate) delete: Option<String>,

    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// List workloads, or show one
///
///   orchestra get                                  those of the namespace
///   orchestra get -A                               those of all namespaces
///   orchestra get web -o yaml                      one, with all that is known of it
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Get {
    /// The workloads; all of the namespace if none is named
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// All namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "names"])]
    pub(crate) all_namespaces: bool,

    /// How to print them
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Show how a workload fares: conditions, dependencies, what happened
///
///   orchestra describe -n shop web
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Describe {
    /// The workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Say why a workload is not ready, and what to do
///
/// The chain from the cause to the condition: what is wrong in the document, which policy
/// forbids or fills in what, where it could run and why there, what it waits for.
///
///   orchestra explain web
///   orchestra explain web -o json | jq .next
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Explain {
    /// The workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,

    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,
}

/// Show what a workload writes
///
///   orchestra logs web
///   orchestra logs web -f --since 10m              and what it writes from now on
///   orchestra logs web --container worker --tail 20
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Logs {
    /// The workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Go on with what it writes next
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// Only this container
    #[arg(short, long, value_name = "CONTAINER", value_parser = name)]
    pub(crate) container: Option<String>,

    /// Only what was written in this time, such as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) since: Option<Duration>,

    /// Only so many of the last lines
    #[arg(long, value_name = "LINES")]
    pub(crate) tail: Option<usize>,

    /// Write the time before each line
    #[arg(long)]
    pub(crate) timestamps: bool,
}

/// Show what the dependencies of a workload give, secrets included
///
/// Needs the right to read claims and secrets, which users of a cluster usually do not have;
/// on your own machine you do.
///
///   orchestra outputs visits                       all outputs of all dependencies
///   orchestra outputs visits db                    those of one
///   psql "$(orchestra outputs visits db uri)"      one output, and nothing else
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Outputs {
    /// The workload
    #[arg(value_name = "WORKLOAD", value_parser = name)]
    pub(crate) name: String,

    /// The key of the resource; all of them if none is named
    #[arg(value_name = "RESOURCE", value_parser = name)]
    pub(crate) resource: Option<String>,

    /// The output; all of them if none is named
    #[arg(value_name = "OUTPUT")]
    pub(crate) output: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Wait until workloads are ready, or gone
///
///   orchestra wait web                             until it is ready
///   orchestra wait web --for deleted --timeout 30s
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(
    after_help = "Exit codes: 0 it is so, 1 it was not so in time, 2 wrong usage, 3 the platform is unreachable."
)]
pub(crate) struct Wait {
    /// The workloads
    #[arg(value_name = "WORKLOAD", required = true, value_parser = name)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// What to wait for
    #[arg(long = "for", value_enum, default_value_t)]
    pub(crate) goal: Goal,

    /// How long to wait, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

/// What can be waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    /// It is ready, as it was last applied
    #[default]
    Ready,
    /// It is gone, with everything that was made for it
    Deleted,
}

/// Delete workloads, with everything that was made for them
///
/// What they depend on goes too, unless its policy says otherwise; `orchestra plan
/// --delete` shows it beforehand.
///
///   orchestra plan --delete web && orchestra delete web
///   orchestra delete -n shop web worker
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Delete {
    /// The workloads
    #[arg(value_name = "WORKLOAD", required = true, value_parser = name)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,

    /// Do not wait until they are gone
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// How long to wait, such as 90s or 5m
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Check the platform's document, and say everything that is wrong with it
    ///
    /// Runtimes and engines that this program does not contain are a warning: a controller of your
    /// own may look after them.
    ///
    ///   orchestra config check platform.yaml
    ///   orchestra config check platform.yaml -o json | jq '.faults'
    #[command(verbatim_doc_comment)]
    Check {
        /// The document; `-` is standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,

        /// How to print the faults
        #[arg(short, long, value_enum, default_value_t)]
        output: Output,
    },
}

/// The name of a workload.
fn name(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if text.is_empty() || !text.chars().all(is_name) {
        return Err("a name has lower-case letters, digits and dashes".to_owned());
    }
    Ok(text.to_owned())
}

/// A time such as `90s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("write a number with s, m or h, such as 90s".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "write a number with s, m or h, such as 90s".to_owned())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(|| "that is too long".to_owned())
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

/// How objects are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Human,
    /// JSON, for programs
    Json,
    /// YAML
    Yaml,
}
