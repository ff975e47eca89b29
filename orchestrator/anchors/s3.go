package anchors

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the protocol's checksum of a body, which SHA-256 stands beside
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/vedette-dev/vedette/internal/outbound"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// ErrForged is returned by a Place that holds what it can't hold: an object in place of a head that is none, or another
// one. Who put it there wants an older copy to pass. It refuses a start, also where the anchor isn't required.
var ErrForged = errors.New("the place holds what is no head of its name")

// S3 is a bucket of an S3-compatible object store. Heads are objects that the bucket's object lock keeps from being changed
// or deleted until their time is over.
type S3 struct {
	// Endpoint is the store's address, such as https://s3.eu-central-1.amazonaws.com. The bucket is part of the path.
	Endpoint string
	Region   string
	Bucket   string
	// Prefix begins the names of all objects, such as "vedette/".
	Prefix string
	// AccessKey and SecretKey sign the requests (SigV4). They need s3:PutObject with s3:PutObjectRetention, s3:GetObject,
	// s3:GetObjectVersion and s3:ListBucketVersions, and should have no more.
	AccessKey, SecretKey string
	// Retain is how long an object is locked. If zero, the bucket's default retention counts.
	Retain time.Duration
	// Governance locks in the mode GOVERNANCE, which some users of the store may lift, in place of COMPLIANCE.
	Governance bool
	// TLS is nil, or how the store's certificate is checked.
	TLS *tls.Config
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

type s3Place struct {
	o      S3
	client *http.Client
	signer *v4.Signer
}

var (
	bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixForm = regexp.MustCompile(`^([A-Za-z0-9_.-]+/)*$`)
)

// NewS3 checks the settings. The endpoint must be https, or lead to this machine.
func NewS3(o S3) (Place, error) {
	o.Endpoint = strings.TrimRight(o.Endpoint, "/")
	client, err := outbound.NewClient(o.Endpoint, o.TLS, sendTime)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(o.Endpoint)
	switch {
	case err != nil || u.Path != "" || u.RawQuery != "":
		return nil, errors.New("the endpoint is a host alone, such as https://s3.eu-central-1.amazonaws.com")
	case !bucketForm.MatchString(o.Bucket):
		return nil, errors.New("the bucket's name has 3 to 63 small letters, digits, dots and hyphens")
	case !prefixForm.MatchString(o.Prefix):
		return nil, errors.New("the prefix is empty, or words with a slash behind each, such as vedette/")
	case o.Region == "" || o.AccessKey == "" || o.SecretKey == "":
		return nil, errors.New("region, access_key and secret_key are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	// S3 signs paths as they are sent.
	return &s3Place{o, client, v4.NewSigner(func(so *v4.SignerOptions) { so.DisableURIPathEscaping = true })}, nil
}

// Kind implements Place.
func (*s3Place) Kind() string { return "s3" }

// nameHead is the name of a head's object: names sort by size within a file of the ledger.
func (p *s3Place) nameHead(h ledger.Head) string { return p.nameSize(nameOrigin(h.Origin), h.Size) }

func (p *s3Place) nameSize(origin string, size int64) string {
	return fmt.Sprintf("%s%s/%020d", p.o.Prefix, origin, size)
}

// Put implements Place.
func (p *s3Place) Put(ctx context.Context, h Kept) error {
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "If-None-Match": {"*"}}
	sum := md5.Sum(h.Signed) //nolint:gosec // see the import
	header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	if p.o.Retain > 0 {
		mode := "COMPLIANCE"
		if p.o.Governance {
			mode = "GOVERNANCE"
		}
		header.Set("X-Amz-Object-Lock-Mode", mode)
		header.Set("X-Amz-Object-Lock-Retain-Until-Date", p.o.Now().Add(p.o.Retain).UTC().Format(time.RFC3339))
	}
	name := p.nameHead(h.Head)
	code, body, err := p.exchange(ctx, http.MethodPut, name, nil, header, h.Signed)
	switch {
	case err != nil:
		return err
	case code == http.StatusOK:
		return nil
	case code == http.StatusPreconditionFailed || code == http.StatusConflict: // a try whose answer was lost, or another's
		there, err := p.readHead(ctx, name, nameOrigin(h.Origin), h.Size)
		if err != nil {
			return err
		}
		if kept, err := ledger.PeekHead(there); err != nil || kept.Root != h.Root {
			return errors.New("the bucket has a head of other records under this name: the ledger has forked")
		}
		return nil
	}
	return describeAnswer(code, body)
}

// Read implements Place: the largest head of each file of the ledger. Older versions of an object count too, and so
// does one behind a delete marker: neither can be taken away while it is locked.
func (p *s3Place) Read(ctx context.Context) (heads [][]byte, err error) {
	origins, err := p.listVersions(ctx, url.Values{"prefix": {p.o.Prefix}, "delimiter": {"/"}})
	if err != nil {
		return nil, err
	}
	for _, c := range origins.Prefixes {
		origin := strings.TrimSuffix(strings.TrimPrefix(c.Prefix, p.o.Prefix), "/")
		size, found, err := p.findLargest(ctx, origin)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		head, err := p.readHead(ctx, p.nameSize(origin, size), origin, size)
		if err != nil {
			return nil, err
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// findLargest finds the largest size of an origin's heads by trying ever larger ones: names can't be listed backwards.
func (p *s3Place) findLargest(ctx context.Context, origin string) (size int64, found bool, err error) {
	size, found, err = p.findNext(ctx, origin, -1)
	if err != nil || !found {
		return 0, false, err
	}
	for step, growing := int64(1), true; step > 0; {
		next, more, err := p.findNext(ctx, origin, size+step-1)
		switch {
		case err != nil:
			return 0, false, err
		case more:
			size = next
		default:
			growing = false
		}
		if growing && step < 1<<61 {
			step *= 2
		} else {
			step /= 2
		}
	}
	return size, true, nil
}

// findNext finds the smallest size behind one.
func (p *s3Place) findNext(ctx context.Context, origin string, behind int64) (size int64, found bool, err error) {
	folder := p.o.Prefix + origin + "/"
	q := url.Values{"prefix": {folder}, "max-keys": {"1"}}
	if behind >= 0 {
		q.Set("key-marker", p.nameSize(origin, behind)+"~") // behind the name, whether a store counts the marker in or not
	}
	list, err := p.listVersions(ctx, q)
	if err != nil {
		return 0, false, err
	}
	objects := slices.Concat(list.Versions, list.DeleteMarkers)
	if len(objects) == 0 {
		return 0, false, nil
	}
	name := objects[0].Key
	n, err := strconv.ParseInt(strings.TrimPrefix(name, folder), 10, 64)
	if err != nil || n <= behind || p.nameSize(origin, n) != name {
		return 0, false, fmt.Errorf("%w: an object's name is no size", ErrForged)
	}
	return n, true, nil
}

// readHead reads the head of a name: the version of the object that is one. Another may have been put over it.
func (p *s3Place) readHead(ctx context.Context, name, origin string, size int64) ([]byte, error) {
	list, err := p.listVersions(ctx, url.Values{"prefix": {name}})
	if err != nil {
		return nil, err
	}
	for _, v := range list.Versions {
		if v.Key != name {
			continue
		}
		q := url.Values{}
		if v.ID != "" && v.ID != "null" {
			q.Set("versionId", v.ID)
		}
		code, body, err := p.exchange(ctx, http.MethodGet, name, q, nil, nil)
		if err != nil {
			return nil, err
		}
		if code != http.StatusOK {
			return nil, describeAnswer(code, body)
		}
		if h, err := ledger.PeekHead(body); err == nil && h.Size == size && nameOrigin(h.Origin) == origin {
			return body, nil
		}
	}
	return nil, fmt.Errorf("%w: the head of %d records is gone, or another object is in its place", ErrForged, size)
}

// versions is a list of versions, as the store answers.
type versions struct {
	XMLName       xml.Name        `xml:"ListVersionsResult"`
	Versions      []objectVersion `xml:"Version"`
	DeleteMarkers []objectVersion `xml:"DeleteMarker"`
	Prefixes      []struct {
		Prefix string `xml:"Prefix"`
	} `xml:"CommonPrefixes"`
}

type objectVersion struct {
	Key string `xml:"Key"`
	ID  string `xml:"VersionId"`
}

// listVersions lists versions of objects, and those that were marked as deleted.
func (p *s3Place) listVersions(ctx context.Context, q url.Values) (out versions, err error) {
	q.Set("versions", "")
	code, body, err := p.exchange(ctx, http.MethodGet, "", q, nil, nil)
	if err != nil {
		return out, err
	}
	if code != http.StatusOK {
		return out, describeAnswer(code, body)
	}
	if err := xml.Unmarshal(body, &out); err != nil {
		return out, errors.New("the bucket's list can't be read: is it an S3-compatible store?")
	}
	return out, nil
}

// exchange signs and sends one request. The error holds no address.
func (p *s3Place) exchange(ctx context.Context, method, name string, q url.Values, header http.Header, body []byte) (int, []byte, error) {
	address := p.o.Endpoint + "/" + p.o.Bucket
	if name != "" {
		address += "/" + name
	}
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the address can't be used")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", payload)
	credentials := aws.Credentials{AccessKeyID: p.o.AccessKey, SecretAccessKey: p.o.SecretKey}
	if err := p.signer.SignHTTP(ctx, credentials, req, payload, "s3", p.o.Region, p.o.Now()); err != nil {
		return 0, nil, errors.New("the request can't be signed")
	}
	res, err := p.client.Do(req)
	if err != nil {
		return 0, nil, errors.New(outbound.DescribeFailure(err))
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxRead))
	if err != nil {
		return 0, nil, errors.New(outbound.DescribeFailure(err))
	}
	return res.StatusCode, answer, nil
}

var codeForm = regexp.MustCompile(`<Code>([A-Za-z0-9]{1,64})</Code>`)

// describeAnswer says what the store answered in place of what was asked for.
func describeAnswer(status int, body []byte) error {
	if m := codeForm.FindSubmatch(body); m != nil {
		return fmt.Errorf("the bucket answered %d (%s)", status, m[1])
	}
	return fmt.Errorf("the bucket answered %d", status)
}
