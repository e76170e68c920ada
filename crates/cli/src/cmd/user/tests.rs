//! The commands against the API, over TLS.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use clap::Parser as _;
use k8s_openapi::{
    api::{
        core::v1::{Namespace, ServiceAccount},
        rbac::v1::RoleBinding,
    },
    jiff::Timestamp,
};
use kube::{
    Api, Client, Config, ResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_api::USERS_NAMESPACE;
use orchestra_apiserver::{Api as Embedded, Caller, Options, store::Memory};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value as Json, json};

use super::{
    add::{self, request_token},
    kubeconfig::{TokenClaims, own_token},
    remove, rights,
    token::credential,
};
use crate::{
    args::{Args, Command, User},
    cmd::{connect, platform::Platform, serve::roles},
    error::CliError,
};

const HOUR: i64 = 3600;

/// Platform without controllers, and a folder for kubeconfigs.
struct Machine {
    folder: tempfile::TempDir,
    api: Embedded,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.api.stop();
    }
}

impl Machine {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = orchestra_serve::Server::bind(([127, 0, 0, 1], 0).into(), folder.path()).unwrap();
        let options = Options { connections: Some(server.connections()), ..Options::default() };
        let api = Embedded::open(Memory, options).await.unwrap();
        let router = api.router();
        tokio::spawn(server.run(router, |peer| Caller::new(peer.name, peer.groups), std::future::pending()));
        let machine = Self { folder, api };
        let system = json!({"metadata": {"name": orchestra_api::SYSTEM_NAMESPACE}});
        machine.create::<Namespace>(&Api::all(machine.client()), system).await;
        roles::apply(&machine.client(), &PatchParams::apply("test").force()).await.unwrap();
        machine
    }

    /// Client of an administrator.
    fn client(&self) -> Client {
        Client::new(self.api.router_for(Caller::admin()), "default")
    }

    async fn create<K>(&self, api: &Api<K>, object: Json) -> K
    where
        K: Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Kubeconfig of a user.
    fn kubeconfig(&self, user: &str) -> PathBuf {
        self.file(&format!("{user}.kubeconfig"))
    }

    /// `orchestra user add`, with further arguments. The kubeconfig is in the folder.
    async fn add(&self, user: &str, more: &[&str]) -> Result<(), CliError> {
        let output = self.kubeconfig(user).display().to_string();
        let mut arguments = vec!["orchestra", "user", "add", user, "--output", &output];
        arguments.extend(more);
        let User::Add(args) = self.parse(&arguments) else { panic!("{arguments:?}") };
        let target = args.administrator.target();
        let platform = Platform::connect(&target).await?;
        add::add(&args, &target, &platform).await.map(drop)
    }

    async fn remove(&self, user: &str) -> Result<(), CliError> {
        self.remove_with(user, &[]).await
    }

    /// `orchestra user remove`, with further arguments.
    async fn remove_with(&self, user: &str, more: &[&str]) -> Result<(), CliError> {
        let mut arguments = vec!["orchestra", "user", "remove", user];
        arguments.extend(more);
        let User::Remove(args) = self.parse(&arguments) else { panic!() };
        let platform = Platform::connect(&args.administrator.target()).await?;
        remove::remove(&args, &platform).await.map(drop)
    }

    /// Platform, as the administrator.
    async fn platform(&self) -> Platform {
        let User::List(args) = self.parse(&["orchestra", "user", "list"]) else { panic!() };
        Platform::connect(&args.administrator.target()).await.unwrap()
    }

    /// Command of the administrator.
    fn parse(&self, arguments: &[&str]) -> User {
        let kubeconfig = self.file("kubeconfig").display().to_string();
        let arguments = arguments.iter().copied().chain(["--kubeconfig", &kubeconfig]);
        let Command::User(user) = Args::try_parse_from(arguments).unwrap().command else { panic!() };
        user
    }

    /// Client with the token of a kubeconfig.
    async fn client_of(&self, user: &str) -> Client {
        client(&read(&self.kubeconfig(user)), user).await
    }

    fn accounts(&self) -> Api<ServiceAccount> {
        Api::namespaced(self.client(), USERS_NAMESPACE)
    }

    /// Names of the role bindings of a namespace.
    async fn bindings(&self, namespace: &str) -> Vec<String> {
        let bindings: Api<RoleBinding> = Api::namespaced(self.client(), namespace);
        bindings.list(&ListParams::default()).await.unwrap().iter().map(ResourceExt::name_any).collect()
    }
}

fn read(file: &Path) -> Kubeconfig {
    Kubeconfig::read_from(file).unwrap()
}

async fn client(kubeconfig: &Kubeconfig, user: &str) -> Client {
    let context = Some(format!("{user}@orchestra"));
    let options = KubeConfigOptions { context, user: Some(format!("{user}-token")), cluster: None };
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await.unwrap();
    connect::client(config).unwrap()
}

/// Code of a refused request.
fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    }
}

async fn whoami(client: &Client) -> kube::Result<String> {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let request = http::Request::post(path).header("content-type", "application/json").body(b"{}".to_vec());
    let review: Json = client.request(request.unwrap()).await?;
    Ok(review["status"]["userInfo"]["username"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_user_is_added_with_a_kubeconfig_and_adding_again_changes_nothing_else() {
    let machine = Machine::start().await;
    machine.add("jane", &[]).await.unwrap();
    let file = machine.kubeconfig("jane");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let first = own_token(&read(&file)).unwrap().1;
    assert_eq!(TokenClaims::of(&first).unwrap().lifetime(), 72 * HOUR);
    let user = whoami(&machine.client_of("jane").await).await.unwrap();
    assert_eq!(user, "system:serviceaccount:score-users:jane");
    let account = machine.accounts().get("jane").await.unwrap();

    machine.add("jane", &[]).await.unwrap();
    assert_ne!(own_token(&read(&file)).unwrap().1, first, "the token is new");
    assert_eq!(machine.accounts().get("jane").await.unwrap().uid(), account.uid());
    assert_eq!(machine.bindings("jane").await, ["score-user:jane:score-user"]);
    machine.add("jane", &["-n", "shop", "--run-programs"]).await.unwrap();
    assert_eq!(
        machine.bindings("shop").await,
        ["score-user:jane:score-program-runner", "score-user:jane:score-user"]
    );
    assert_eq!(machine.bindings("jane").await.len(), 1, "earlier access stays");
}

#[tokio::test]
async fn a_removed_user_loses_everything_at_once_and_a_new_one_of_that_name_gets_nothing_of_it() {
    let machine = Machine::start().await;
    machine.add("jane", &["-n", "shop"]).await.unwrap();
    let old = machine.client_of("jane").await;
    assert!(whoami(&old).await.is_ok());
    machine.remove("jane").await.unwrap();
    assert_eq!(code(whoami(&old).await), 401);
    assert_eq!(machine.bindings("shop").await, Vec::<String>::new());
    assert_eq!(machine.bindings(USERS_NAMESPACE).await, Vec::<String>::new());
    let namespaces: Api<Namespace> = Api::all(machine.client());
    assert!(namespaces.get("shop").await.is_ok(), "it is kept");
    let error = machine.remove("jane").await.unwrap_err().to_string();
    assert!(error.contains("orchestra user list"), "{error}");
    let expired =
        credential(&machine.kubeconfig("jane"), None, Timestamp::now().as_second() + 4 * HOUR).await;
    let error = expired.unwrap_err().to_string();
    assert!(error.contains("was removed") && error.contains("orchestra user add jane"), "{error}");

    machine.add("jane", &[]).await.unwrap();
    assert_eq!(code(whoami(&old).await), 401, "the new account has another uid");
    let new = machine.client_of("jane").await;
    let maps = |namespace: &str| {
        let path = format!("/apis/score.dev/v1b1/namespaces/{namespace}/workloads");
        http::Request::get(path).body(Vec::new()).unwrap()
    };
    assert_eq!(code(new.request::<Json>(maps("shop")).await), 403);
    assert_eq!(code(new.request::<Json>(maps("jane")).await), 404, "allowed, and there are no CRDs");
}

#[tokio::test]
async fn the_namespace_of_a_removed_user_is_not_given_to_a_new_one_of_that_name_silently() {
    let machine = Machine::start().await;
    machine.add("jane", &[]).await.unwrap();
    machine.remove("jane").await.unwrap();
    let error = machine.add("jane", &[]).await.unwrap_err().to_string();
    assert!(error.contains("exists already") && error.contains("pass `-n jane`"), "{error}");
    assert!(machine.accounts().get_opt("jane").await.unwrap().is_none());
    machine.add("jane", &["-n", "jane"]).await.unwrap();
}

#[tokio::test]
async fn without_options_an_existing_user_gets_a_token_and_nothing_else() {
    let machine = Machine::start().await;
    machine.add("ed", &["-n", "shop", "--role", "view", "--duration", "1h"]).await.unwrap();
    machine.add("ed", &["-n", "lab"]).await.unwrap();
    fs::remove_file(machine.kubeconfig("ed")).unwrap();
    machine.add("ed", &[]).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(machine.client());
    assert!(namespaces.get_opt("ed").await.unwrap().is_none());
    assert_eq!(machine.bindings("shop").await, ["score-user:ed:view"]);
    let file = read(&machine.kubeconfig("ed"));
    assert_eq!(TokenClaims::of(&own_token(&file).unwrap().1).unwrap().lifetime(), HOUR);
    assert_eq!(file.contexts[0].context.as_ref().unwrap().namespace.as_deref(), Some("lab"));
    machine.add("ed", &["-n", "shop", "--run-programs"]).await.unwrap();
    assert_eq!(machine.bindings("shop").await, ["score-user:ed:score-program-runner", "score-user:ed:view"]);
    let file = read(&machine.kubeconfig("ed"));
    assert_eq!(file.contexts[0].context.as_ref().unwrap().namespace.as_deref(), Some("lab"), "it stays");
    let error = machine.add("ed", &["--run-programs"]).await.unwrap_err().to_string();
    assert!(error.contains("the namespaces lab, shop; choose one with -n"), "{error}");
}

#[tokio::test]
async fn one_role_of_a_user_is_taken_back() {
    let machine = Machine::start().await;
    machine.add("jane", &["--run-programs"]).await.unwrap();
    machine.add("jane", &["-n", "shop"]).await.unwrap();
    machine.remove_with("jane", &["-n", "jane", "--role", "score-program-runner"]).await.unwrap();
    assert_eq!(machine.bindings("jane").await, ["score-user:jane:score-user"]);
    machine.remove_with("jane", &["-n", "shop"]).await.unwrap();
    assert_eq!(machine.bindings("shop").await, Vec::<String>::new());
    assert!(whoami(&machine.client_of("jane").await).await.is_ok());
    for namespace in ["shop", USERS_NAMESPACE] {
        let error = machine.remove_with("jane", &["-n", namespace]).await.unwrap_err().to_string();
        assert!(error.contains("no such role") && error.contains("orchestra user list"), "{error}");
    }
}

#[tokio::test]
async fn only_a_namespace_that_was_created_for_the_user_alone_may_be_deleted() {
    let machine = Machine::start().await;
    let platform = machine.platform().await;
    machine.add("jane", &[]).await.unwrap();
    machine.add("jane", &["-n", "default"]).await.unwrap();
    machine.add("bob", &[]).await.unwrap();
    machine.add("dora", &["-n", "bob"]).await.unwrap();
    let robots: Api<ServiceAccount> = Api::namespaced(machine.client(), "jane");
    machine.create(&robots, json!({"metadata": {"name": "robot"}})).await;
    machine.remove("jane").await.unwrap();
    let report = remove::kept(&platform, "jane", "jane").await.unwrap();
    assert!(report[0].ends_with("delete it with `kubectl delete namespace jane`."), "{report:?}");
    assert!(report[1].contains("service accounts, whose tokens stay valid: robot"), "{report:?}");
    let report = remove::kept(&platform, "jane", "default").await.unwrap();
    assert_eq!(report, ["Kept the namespace default."]);
    machine.remove("bob").await.unwrap();
    let report = remove::kept(&platform, "bob", "bob").await.unwrap();
    assert_eq!(report, ["Kept the namespace bob."], "dora works there");
}

#[tokio::test]
async fn a_role_without_rights_on_workloads_is_warned_of() {
    let machine = Machine::start().await;
    let platform = machine.platform().await;
    for (role, is_warned) in [("view", true), ("score-viewer", false)] {
        machine.add("jane", &["-n", role, "--role", role]).await.unwrap();
        let warnings = rights::warnings(&platform, "jane", role, &[role]).await.unwrap();
        assert_eq!(
            warnings.iter().any(|warning| warning.contains("--role score-viewer")),
            is_warned,
            "{warnings:?}"
        );
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_refused_before_anything_is_created() {
    let machine = Machine::start().await;
    let file = machine.file("missing/jane.kubeconfig").display().to_string();
    let User::Add(args) = machine.parse(&["orchestra", "user", "add", "jane", "--output", &file]) else {
        panic!()
    };
    let target = args.administrator.target();
    let platform = Platform::connect(&target).await.unwrap();
    let error = add::add(&args, &target, &platform).await.unwrap_err().to_string();
    assert!(error.contains("missing does not exist; create it"), "{error}");
    assert!(machine.accounts().get_opt("jane").await.unwrap().is_none());
}

#[tokio::test]
async fn a_removal_that_was_interrupted_is_completed() {
    let machine = Machine::start().await;
    machine.add("jane", &[]).await.unwrap();
    machine.accounts().delete("jane", &kube::api::DeleteParams::default()).await.unwrap();
    machine.remove("jane").await.unwrap();
    assert_eq!(machine.bindings("jane").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_user_renews_the_own_token_in_the_file_and_the_rest_of_it_stays() {
    let machine = Machine::start().await;
    machine.add("jane", &[]).await.unwrap();
    let file = machine.kubeconfig("jane");
    let text =
        fs::read_to_string(&file).unwrap().replace("namespace: jane", "namespace: edited") + "# a comment\n";
    fs::write(&file, &text).unwrap();
    let now = Timestamp::now().as_second();
    let first = credential(&file, None, now).await.unwrap();
    assert!(first.until > now && first.until <= now + 3 * HOUR, "clients ask again long before its end");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    let renewed = credential(&file, None, now + 4 * HOUR).await.unwrap();
    assert_ne!(renewed.token, first.token);
    assert_eq!(fs::read_to_string(&file).unwrap(), text.replace(&first.token, &renewed.token));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(whoami(&machine.client_of("jane").await).await.is_ok());

    let error = credential(&file, None, now + 73 * HOUR).await.unwrap_err().to_string();
    assert!(error.contains("expired") && error.contains("orchestra user add jane"), "{error}");
    machine.api.stop();
    fs::write(machine.file("other"), "{}").unwrap();
    let error = credential(&machine.file("other"), None, now).await.unwrap_err().to_string();
    assert!(error.contains("is no kubeconfig of `orchestra user add`"), "{error}");
}

#[tokio::test]
async fn the_token_of_each_user_in_a_merged_file_is_renewed_on_its_own_platform() {
    let machine = Machine::start().await;
    machine.add("jane", &[]).await.unwrap();
    machine.add("bob", &[]).await.unwrap();
    let merged = read(&machine.kubeconfig("jane")).merge(read(&machine.kubeconfig("bob"))).unwrap();
    let merged = Kubeconfig { current_context: Some("elsewhere".to_owned()), ..merged };
    let file = machine.file("config");
    fs::write(&file, orchestra_score::yaml::to_yaml(&serde_json::to_value(&merged).unwrap()).unwrap())
        .unwrap();
    let now = Timestamp::now().as_second();
    for user in ["jane", "bob"] {
        let first = credential(&file, Some(user), now).await.unwrap();
        let renewed = credential(&file, Some(user), now + 4 * HOUR).await.unwrap();
        assert_ne!(renewed.token, first.token);
        let name = format!("system:serviceaccount:score-users:{user}");
        assert_eq!(whoami(&client(&read(&file), user).await).await.unwrap(), name);
    }
}

#[tokio::test]
async fn a_user_can_neither_take_the_token_of_another_nor_extend_the_own_access() {
    let machine = Machine::start().await;
    machine.add("jane", &[]).await.unwrap();
    machine.add("bob", &[]).await.unwrap();
    let bob = machine.client_of("bob").await;
    let accounts: Api<ServiceAccount> = Api::namespaced(bob.clone(), USERS_NAMESPACE);
    assert!(request_token(&accounts, "bob", HOUR).await.is_ok());
    assert_eq!(code(request_token(&accounts, "jane", HOUR).await), 403);
    let merge = PatchParams::default();
    let label = Patch::Merge(json!({"metadata": {"labels": {"score.dev/user": "jane"}}}));
    assert_eq!(code(accounts.patch("bob", &merge, &label).await), 403);
    for namespace in ["bob", "jane", USERS_NAMESPACE] {
        let bindings: Api<RoleBinding> = Api::namespaced(bob.clone(), namespace);
        assert_eq!(code(bindings.list(&ListParams::default()).await), 403);
        let more = super::objects::access_binding("bob", namespace, "cluster-admin");
        let name = more["metadata"]["name"].as_str().unwrap().to_owned();
        let apply = PatchParams::apply("bob").force();
        assert_eq!(code(bindings.patch(&name, &apply, &Patch::Apply(more)).await), 403);
        let subject = Patch::Merge(json!({"subjects": []}));
        assert_eq!(code(bindings.patch("score-user:bob:score-user", &merge, &subject).await), 403);
    }
    let mut impersonating = read(&machine.kubeconfig("bob"));
    for auth in &mut impersonating.auth_infos {
        auth.auth_info.as_mut().unwrap().impersonate =
            Some("system:serviceaccount:score-users:jane".to_owned());
    }
    assert_eq!(code(whoami(&client(&impersonating, "bob").await).await), 403);
}

#[tokio::test]
async fn objects_and_files_of_others_are_left_alone() {
    let machine = Machine::start().await;
    machine.add("jane", &[]).await.unwrap();
    let account = machine.create(&machine.accounts(), json!({"metadata": {"name": "robot"}})).await;
    for error in [machine.add("robot", &[]).await, machine.remove("robot").await] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("service account score-users/robot"), "{error}");
    }
    let kept = machine.accounts().get("robot").await.unwrap();
    assert_eq!(kept.resource_version(), account.resource_version());
    assert!(!machine.kubeconfig("robot").exists());

    let namespaces: Api<Namespace> = Api::all(machine.client());
    machine.create(&namespaces, json!({"metadata": {"name": "shop"}})).await;
    let error = machine.add("shop", &[]).await.unwrap_err().to_string();
    assert!(error.contains("pass `-n shop`"), "{error}");
    machine.add("shop", &["-n", "shop"]).await.unwrap();

    let mut foreign = super::objects::access_binding("bob", "shop", "score-user");
    foreign["metadata"]["labels"] = json!({});
    let bindings: Api<RoleBinding> = Api::namespaced(machine.client(), "shop");
    machine.create(&bindings, foreign).await;
    let error = machine.add("bob", &["-n", "shop"]).await.unwrap_err().to_string();
    assert!(error.contains("role binding shop/score-user:bob:score-user"), "{error}");

    for (user, file) in
        [("jane", "something else"), ("ann", &*fs::read_to_string(machine.kubeconfig("jane")).unwrap())]
    {
        fs::write(machine.kubeconfig(user), file).unwrap();
        let error = machine.add(user, &[]).await.unwrap_err().to_string();
        assert!(error.contains("--force"), "{error}");
        assert_eq!(fs::read_to_string(machine.kubeconfig(user)).unwrap(), file);
        machine.add(user, &["--force"]).await.unwrap();
        assert_eq!(own_token(&read(&machine.kubeconfig(user))).unwrap().0, user);
    }
}

#[tokio::test]
async fn an_unknown_role_is_refused_with_the_known_ones_before_anything_is_created() {
    let machine = Machine::start().await;
    for role in ["nope", "", "..", "a/b", "a%2fb"] {
        let error = machine.add("jane", &["--role", role]).await.unwrap_err().to_string();
        assert!(error.contains("view") && error.contains("score-user"), "{error}");
    }
    let namespaces: Api<Namespace> = Api::all(machine.client());
    assert!(namespaces.get_opt("jane").await.unwrap().is_none());
    assert!(namespaces.get_opt(USERS_NAMESPACE).await.unwrap().is_none());
    machine.add("jane", &["--role", "view"]).await.unwrap();
    assert_eq!(machine.bindings("jane").await, ["score-user:jane:view"]);
}
