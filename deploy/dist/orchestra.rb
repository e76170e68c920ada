# Homebrew formula of orchestra @VERSION@, written by `cargo xtask dist`.
class Orchestra < Formula
  desc "Run Score workloads anywhere"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

@DOWNLOADS@

  def install
    bin.install "bin/orchestra"
    bash_completion.install "share/bash-completion/completions/orchestra"
    fish_completion.install "share/fish/vendor_completions.d/orchestra.fish"
    zsh_completion.install "share/zsh/site-functions/_orchestra"
    man1.install Dir["share/man/man1/*.1"]
    doc.install Dir["share/doc/orchestra/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/orchestra version")
  end
end
