//! Console blocks of the documentation, executed and compared.

#[test]
fn commands_print_what_the_documentation_shows() {
    // Paths in the transcripts are relative to the checkout.
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(root).unwrap();
    trycmd::TestCases::new()
        .default_bin_name("orchestra")
        .case("README.md")
        .case("docs/errors/*.md")
        .case("docs/platform.md")
        .case("crates/cli/tests/cmd/*.md");
}
