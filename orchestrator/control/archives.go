package control

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Archived is what an archive of the ledger did.
type Archived = ledger.Archived

// ErrNoArchives is returned by a process that archives no ledger.
var ErrNoArchives = errors.New("the process archives no ledger")

// ErrNothingToArchive is returned where the ledger has no records.
var ErrNothingToArchive = ledger.ErrNothing

// ArchiveBackend is a Backend whose process has a ledger. Its errors are those of ledger.Archiver.Archive.
type ArchiveBackend interface {
	ArchiveLedger(ctx context.Context, by string) (Archived, error)
}

// archiveTime bounds an archive, whose values are copied meanwhile.
const archiveTime = time.Hour

// serveArchives adds the path of archives. Who archives is the one whom the system tells.
func serveArchives(s *Server, mux *http.ServeMux) {
	answer := s.newHandler(func(r *http.Request) (any, error) {
		b, ok := s.b.(ArchiveBackend)
		if !ok {
			return nil, ErrNoArchives
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), archiveTime)
		defer cancel()
		return b.ArchiveLedger(ctx, localName(r))
	})
	mux.HandleFunc("POST /v1/archives", func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		end := time.Now().Add(archiveTime)
		if err := errors.Join(c.SetReadDeadline(end), c.SetWriteDeadline(end)); err != nil {
			http.Error(w, "this connection can't wait", http.StatusInternalServerError)
			return
		}
		answer(w, r)
	})
}

// The codes of errors about archives on the wire.
const (
	codeNoArchives       = "no_archives"
	codeNothingToArchive = "nothing_to_archive"
)

// archiveErrors are the errors about archives that a code says all of.
var archiveErrors = []plainError{
	{codeNoArchives, http.StatusNotFound, ErrNoArchives}, {codeNothingToArchive, http.StatusConflict, ErrNothingToArchive},
}

// encodeArchiveError is an error about archives as it goes over the wire; ok is false for others.
func encodeArchiveError(err error) (status int, f failed, ok bool) {
	for _, p := range archiveErrors {
		if errors.Is(err, p.err) {
			return p.status, failed{Error: err.Error(), Code: p.code}, true
		}
	}
	return 0, failed{}, false
}
