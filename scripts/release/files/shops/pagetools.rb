# For a tap: Formula/pagetools.rb.
class Pagetools < Formula
  desc "Tools that web pages declare through WebMCP, for any agent"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "MIT"
{{range .Homebrew}}
  on_{{.System}} do
{{- range .Archives}}
    on_{{.CPU}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "pagetools"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/pagetools.bash" => "pagetools"
    zsh_completion.install "completions/_pagetools"
    fish_completion.install "completions/pagetools.fish"
    (share/"pagetools/from").write "brew\n"
  end

  def caveats
    <<~TEXT
      pagetools needs Chrome, Chromium or Edge: `pagetools doctor` says whether it finds one.
    TEXT
  end

  test do
    assert_match "v#{version}", shell_output("#{bin}/pagetools version --format json")
  end
end
