package anchors_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // the protocol's checksum
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

const (
	s3Region = "eu-test-1"
	s3Access = "AKIDTEST"
	s3Secret = "CANARY+secret/key"
	s3Bucket = "heads"
)

// vault is a strict S3 server: it checks every signature by itself, keeps every version, and lets no locked one go.
type vault struct {
	t  *testing.T
	mu sync.Mutex
	// versions of each name, the newest last; a nil body is a delete marker.
	objects map[string][]vaulted
	n       int
}

type vaulted struct {
	id     string
	body   []byte
	locked time.Time
}

func (v *vault) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !v.isSigned(r, body) {
		v.refuse(w, http.StatusForbidden, "SignatureDoesNotMatch")
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	name, isObject := strings.CutPrefix(r.URL.Path, "/"+s3Bucket+"/")
	q := r.URL.Query()
	switch {
	case isObject && r.Method == http.MethodPut:
		v.put(w, r, name, body)
	case isObject && r.Method == http.MethodGet:
		for _, o := range slices.Backward(v.objects[name]) {
			if (o.id == q.Get("versionId") || q.Get("versionId") == "") && o.body != nil {
				_, _ = w.Write(o.body)
				return
			}
		}
		v.refuse(w, http.StatusNotFound, "NoSuchKey")
	case isObject && r.Method == http.MethodDelete:
		v.remove(w, name, q.Get("versionId"))
	case r.Method == http.MethodGet && q.Has("versions"):
		v.list(w, q)
	default:
		v.refuse(w, http.StatusNotImplemented, "NotImplemented")
	}
}

func (v *vault) refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

func (v *vault) put(w http.ResponseWriter, r *http.Request, name string, body []byte) {
	sum := md5.Sum(body) //nolint:gosec // see the import
	until, err := time.Parse(time.RFC3339, r.Header.Get("X-Amz-Object-Lock-Retain-Until-Date"))
	list := v.objects[name]
	switch {
	case r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]):
		v.refuse(w, http.StatusBadRequest, "BadDigest")
		return
	case r.Header.Get("X-Amz-Object-Lock-Mode") != "" && err != nil:
		v.refuse(w, http.StatusBadRequest, "InvalidRequest")
		return
	case r.Header.Get("If-None-Match") == "*" && len(list) > 0 && list[len(list)-1].body != nil:
		v.refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	v.n++
	v.objects[name] = append(list, vaulted{strconv.Itoa(v.n), body, until})
}

func (v *vault) remove(w http.ResponseWriter, name, version string) {
	v.n++
	if version == "" {
		v.objects[name] = append(v.objects[name], vaulted{id: strconv.Itoa(v.n)})
		w.WriteHeader(http.StatusNoContent)
		return
	}
	i := slices.IndexFunc(v.objects[name], func(o vaulted) bool { return o.id == version })
	if i >= 0 && time.Now().Before(v.objects[name][i].locked) {
		v.refuse(w, http.StatusForbidden, "AccessDenied")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (v *vault) list(w http.ResponseWriter, q url.Values) {
	type version struct{ Key, VersionId string } //nolint:revive,staticcheck // the protocol's name
	var out struct {
		XMLName        xml.Name  `xml:"ListVersionsResult"`
		Version        []version `xml:"Version"`
		DeleteMarker   []version `xml:"DeleteMarker"`
		CommonPrefixes []struct{ Prefix string }
	}
	var names []string
	for name := range v.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	most, prefixes := 1000, map[string]bool{}
	if n, err := strconv.Atoi(q.Get("max-keys")); err == nil {
		most = n
	}
	for _, name := range names {
		rest, ok := strings.CutPrefix(name, q.Get("prefix"))
		if !ok || name <= q.Get("key-marker") && q.Has("key-marker") {
			continue
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper && q.Get("delimiter") == "/" {
			prefixes[q.Get("prefix")+first+"/"] = true
			continue
		}
		for _, o := range slices.Backward(v.objects[name]) {
			if len(out.Version)+len(out.DeleteMarker) == most {
				break
			}
			if o.body == nil {
				out.DeleteMarker = append(out.DeleteMarker, version{name, o.id})
			} else {
				out.Version = append(out.Version, version{name, o.id})
			}
		}
	}
	for p := range prefixes {
		out.CommonPrefixes = append(out.CommonPrefixes, struct{ Prefix string }{p})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}

// isSigned checks a signature of AWS Signature Version 4 by the specification, without the library that makes them.
func (v *vault) isSigned(r *http.Request, body []byte) bool {
	fields := map[string]string{}
	kind, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for _, f := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		fields[name] = value
	}
	scope, ok := strings.CutPrefix(fields["Credential"], s3Access+"/")
	day, _, _ := strings.Cut(scope, "/")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if !ok || err != nil || kind != "AWS4-HMAC-SHA256" || scope != day+"/"+s3Region+"/s3/aws4_request" ||
		!strings.HasPrefix(r.Header.Get("X-Amz-Date"), day) ||
		time.Since(at).Abs() > 15*time.Minute {
		return false
	}
	sum := sha256.Sum256(body)
	if r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
		return false
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	for _, must := range []string{"host", "x-amz-content-sha256", "x-amz-date"} {
		if !slices.Contains(signed, must) {
			return false
		}
	}
	for name := range r.Header { // what is not signed could be changed on the way
		if strings.HasPrefix(name, "X-Amz-") && !slices.Contains(signed, strings.ToLower(name)) {
			return false
		}
	}
	var canonical strings.Builder
	query := strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20")
	fmt.Fprintf(&canonical, "%s\n%s\n%s\n", r.Method, r.URL.EscapedPath(), query)
	for _, name := range signed {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		fmt.Fprintf(&canonical, "%s:%s\n", name, strings.TrimSpace(value))
	}
	fmt.Fprintf(&canonical, "\n%s\n%s", fields["SignedHeaders"], r.Header.Get("X-Amz-Content-Sha256"))
	sum = sha256.Sum256([]byte(canonical.String()))
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + s3Secret)
	for _, part := range append(strings.Split(scope, "/"), text) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	return hmac.Equal([]byte(hex.EncodeToString(key)), []byte(fields["Signature"]))
}

// s3Server is where a bucket is.
type s3Server struct {
	t   *testing.T
	url string
}

// startVault starts the strict server.
func startVault(t *testing.T) s3Server {
	t.Helper()
	s := httptest.NewServer(&vault{t: t, objects: map[string][]vaulted{}})
	t.Cleanup(s.Close)
	return s3Server{t, s.URL}
}

// gatewayEnv names the program versitygw, an S3 server over folders; see the script test.
const gatewayEnv = "VEDETTE_TEST_VERSITYGW"

// startGateway starts a real S3-compatible server and makes a bucket with object lock in it.
func startGateway(t *testing.T, program string) s3Server {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	dir := t.TempDir()
	for _, name := range []string{"data", "versions"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	cmd := exec.Command(program, "--port", addr, "--access", s3Access, "--secret", s3Secret, "--region", s3Region, "--quiet",
		"posix", "--versioning-dir", filepath.Join(dir, "versions"), filepath.Join(dir, "data"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Log(out.String())
		}
	})
	s := s3Server{t, "http://" + addr}
	require.Eventually(t, func() bool {
		code, _, err := s.send(http.MethodPut, "", nil, http.Header{"X-Amz-Bucket-Object-Lock-Enabled": {"true"}}, nil)
		return err == nil && code == http.StatusOK
	}, 4*time.Minute, 50*time.Millisecond)
	return s
}

// send sends a request as one who has stolen the keys would.
func (s s3Server) send(method, name string, q url.Values, header http.Header, body []byte) (int, string, error) {
	address := s.url + "/" + s3Bucket
	if name != "" {
		address += "/" + name
	}
	req, err := http.NewRequestWithContext(context.Background(), method, address+"?"+q.Encode(), bytes.NewReader(body))
	require.NoError(s.t, err)
	for k, v := range header {
		req.Header[k] = v
	}
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", payload)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	credentials := aws.Credentials{AccessKeyID: s3Access, SecretAccessKey: s3Secret}
	require.NoError(s.t, signer.SignHTTP(context.Background(), credentials, req, payload, "s3", s3Region, time.Now()))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, string(answer), errors.Join(err, res.Body.Close())
}

func (s s3Server) place(change func(*anchors.S3)) anchors.Place {
	s.t.Helper()
	o := anchors.S3{Endpoint: s.url, Region: s3Region, Bucket: s3Bucket, Prefix: "vedette/", AccessKey: s3Access, SecretKey: s3Secret,
		Retain: time.Hour}
	if change != nil {
		change(&o)
	}
	p, err := anchors.NewS3(o)
	require.NoError(s.t, err)
	return p
}

// name is the name of the object with a head.
func (s s3Server) name(size int64) string { return fmt.Sprintf("vedette/vedette-ledger/%020d", size) }

// versionsOf are the ids of the versions of an object.
func (s s3Server) versionsOf(name string) (out []string) {
	_, body, err := s.send(http.MethodGet, "", url.Values{"versions": {""}, "prefix": {name}}, nil, nil)
	require.NoError(s.t, err)
	var list struct {
		Version []struct{ VersionId string } //nolint:revive,staticcheck // the protocol's name
	}
	require.NoError(s.t, xml.Unmarshal([]byte(body), &list))
	for _, v := range list.Version {
		out = append(out, v.VersionId)
	}
	return out
}

// eachS3 runs a test with the strict server, and with a real one where there is the program.
func eachS3(t *testing.T, test func(t *testing.T, s s3Server)) {
	t.Run("strict", func(t *testing.T) { test(t, startVault(t)) })
	if program := os.Getenv(gatewayEnv); program != "" {
		t.Run("versitygw", func(t *testing.T) { test(t, startGateway(t, program)) })
	}
}

// Heads go to a bucket under object lock. Who has the keys of the place can delete none of them, nor hide the newest
// behind another version or a delete marker, nor pretend with another name: an older copy of the ledger is refused.
func TestS3(t *testing.T) {
	eachS3(t, func(t *testing.T, s s3Server) {
		b := newBook(t)
		place := s.place(nil)
		var log bytes.Buffer
		anchor := anchors.Anchor{Name: "vault", Place: place}
		set := b.set(&log, anchor)
		require.NoError(t, set.Compare(t.Context()), log.String())
		var old []byte
		var first []byte
		for n := range 4 {
			b.add(1 + n*n)
			require.NoError(t, set.Couriers()[0].Send(t.Context()))
			if n == 1 {
				old = b.backup()
				var err error
				first, err = b.ExportHead(t.Context())
				require.NoError(t, err)
				set = b.set(&log, anchor)
			}
		}
		heads, err := place.Read(t.Context())
		require.NoError(t, err)
		require.Len(t, heads, 1)
		h, err := ledger.PeekHead(heads[0])
		require.NoError(t, err)
		require.EqualValues(t, 18, h.Size)
		require.NoError(t, b.set(&log, anchor).Compare(t.Context()))

		version := s.versionsOf(s.name(18))
		require.Len(t, version, 1)
		code, body, err := s.send(http.MethodDelete, s.name(18), url.Values{"versionId": version}, nil, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, code, body)
		b.restore(old)
		refused := func() {
			t.Helper()
			var no *anchors.RefusedError
			require.ErrorAs(t, b.set(&log, anchor).Compare(t.Context()), &no)
		}
		refused()
		sum := md5.Sum(first) //nolint:gosec // see the import
		until := http.Header{"Content-Md5": {base64.StdEncoding.EncodeToString(sum[:])}}
		code, body, err = s.send(http.MethodPut, s.name(18), nil, until, first) // an old head over the newest
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, body)
		require.Len(t, s.versionsOf(s.name(18)), 2)
		refused()
		code, body, err = s.send(http.MethodDelete, s.name(18), nil, nil, nil) // a delete marker over both
		require.NoError(t, err)
		require.Less(t, code, 300, body)
		refused()
		code, body, err = s.send(http.MethodPut, s.name(99), nil, until, first) // an old head under a larger name
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code, body)
		_, err = place.Read(t.Context())
		require.ErrorIs(t, err, anchors.ErrForged)
		refused()
	})
}

// A head is kept once; another of the same size is a fork; and failures tell neither key nor address.
func TestS3Answers(t *testing.T) {
	eachS3(t, func(t *testing.T, s s3Server) {
		b := newBook(t)
		b.add(3)
		signed, err := b.ExportHead(t.Context())
		require.NoError(t, err)
		h, err := ledger.PeekHead(signed)
		require.NoError(t, err)
		place := s.place(func(o *anchors.S3) { o.Governance = true })
		for range 2 {
			require.NoError(t, place.Put(t.Context(), anchors.Kept{Head: h, Signed: signed}))
		}
		require.Len(t, s.versionsOf(s.name(3)), 1)
		other := h
		other.Root[0] ^= 1
		require.ErrorContains(t, place.Put(t.Context(), anchors.Kept{Head: other, Signed: signed}), "forked")

		for _, bad := range []anchors.Place{
			s.place(func(o *anchors.S3) { o.SecretKey = "CANARY-wrong" }), s.place(func(o *anchors.S3) { o.Bucket = "nobucket" }),
		} {
			h.Size++
			err := bad.Put(t.Context(), anchors.Kept{Head: h, Signed: signed})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "CANARY")
			require.NotContains(t, err.Error(), s3Access)
			_, err = bad.Read(t.Context())
			require.Error(t, err)
		}
	})
}

func TestS3Settings(t *testing.T) {
	for want, change := range map[string]func(*anchors.S3){
		"https":              func(o *anchors.S3) { o.Endpoint = "http://s3.example" },
		"a host alone":       func(o *anchors.S3) { o.Endpoint = "https://s3.example/x" },
		"bucket's name":      func(o *anchors.S3) { o.Bucket = "../x" },
		"prefix":             func(o *anchors.S3) { o.Prefix = "no/slash" },
		"access_key":         func(o *anchors.S3) { o.AccessKey = "" },
		"a URL such as http": func(o *anchors.S3) { o.Endpoint = "://" },
	} {
		o := anchors.S3{Endpoint: "https://s3.example", Region: "r", Bucket: "bucket", AccessKey: "a", SecretKey: "s"}
		change(&o)
		_, err := anchors.NewS3(o)
		require.Error(t, err, want)
	}
}
