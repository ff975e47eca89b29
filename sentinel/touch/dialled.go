package touch

import (
	"slices"
	"strings"
)

// dialers are the other programs whose operands are hosts, in forms of their
// own: "TCP:host:80", "80:host:80", "-connect host:443".
var dialers = set("lynx links elinks w3m socat openssl ssh autossh nmap masscan ab wrk hey httping lftp smbclient wkhtmltopdf chromium google-chrome firefox grpcurl websocat axel crane skopeo")

// proxies are the variables that name the host that clients go to first.
var proxies = set("http_proxy https_proxy all_proxy ftp_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY AWS_EC2_METADATA_SERVICE_ENDPOINT AWS_CONTAINER_CREDENTIALS_FULL_URI GCE_METADATA_HOST")

// ownMetadata are the programs that ask a metadata service without naming it.
var ownMetadata = set("ec2-metadata ec2metadata ec2-instance-metadata")

// dials records a metadata service among the hosts of programs that take them
// in their own way, and in the lists of addresses that clients are fed.
func (s *shell) dials(name string, args []field, in stream) {
	switch {
	case ownMetadata[name] && !helps(args), name == "cloud-init" && len(args) > 1 && args[0].text == "query":
		s.metadata(literals([]string{"http://169.254.169.254/"}))
	case dialers[name]:
		s.metadata(args)
	case name == "go" || name == "docker" || name == "podman":
		if i := slices.IndexFunc(args, func(f field) bool {
			return f.text == "get" || f.text == "install" || f.text == "pull" || f.text == "push"
		}); i == 0 {
			s.metadata(args[1:])
		}
	case name == "wget" || name == "curl" || name == "aria2c":
		for i, a := range args {
			opt, val, joined := optionOf(a, "iK")
			if !slices.Contains([]string{"-i", "--input-file", "-K", "--config"}, opt) {
				continue
			}
			if !joined && i+1 < len(args) {
				val = args[i+1]
			}
			if text, ok := s.content(val, in); ok {
				s.addresses(text)
			}
		}
	}
}

// addresses reads a list of URLs, or a configuration of curl's.
func (s *shell) addresses(text string) {
	for i, line := range strings.Split(text, "\n") {
		if i == maxItems {
			return
		}
		key, val, ok := strings.Cut(line, "=")
		if key = strings.Trim(key, " -\t"); ok && !strings.ContainsAny(key, ":/") {
			line = strings.Trim(val, ` "`)
		}
		if ok && key == "output" {
			s.writes(field{text: line, bare: line})
			continue
		}
		s.reach(line, true)
		if hasFold(line, "file:") {
			s.path(field{text: line, bare: line}, Read)
		}
	}
}

// netWords are the words with which programs go to a host.
var netWords = set("socket create_connection httpconnection httpsconnection connect createconnection http https net get request inet tcpsocket fetch axios dial urlopen irm iwr invoke-restmethod invoke-webrequest client_socket fsockopen")

// dialled looks for a metadata service as a whole string of a program that goes
// to hosts.
func (s *shell) dialled(g *program, words uint8) {
	if words&dialingWord == 0 && !strings.Contains(g.src, "/inet/tcp") {
		return
	}
	for _, p := range g.spans {
		if len(p.text) < 64 && !strings.ContainsAny(p.text, " \n") {
			s.metadata(literals([]string{p.text}))
		}
	}
}
