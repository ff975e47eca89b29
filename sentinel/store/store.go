package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DriverSQLite is the driver that an empty Options.Driver means.
const DriverSQLite = "sqlite"

const (
	defaultMaxBatch    = 256
	maxMaxBatch        = 4096
	defaultBusyTimeout = 5 * time.Second
)

// Options says which database to open and how. Only Path is required.
type Options struct {
	// Path is the first database file. It is created with mode 0600 when there is none of the store's;
	// its folder must exist.
	Path string
	// Driver is the kind of database. If empty, DriverSQLite.
	Driver string
	// MaxBatch is the largest number of submissions in one transaction. If
	// zero, 256; at most 4096.
	MaxBatch int
	// BusyTimeout is how long the writer waits for a lock that another
	// connection holds. If zero, 5 s.
	BusyTimeout time.Duration
}

// withDefaults returns o with its defaults filled in, or what is wrong with it.
func (o Options) withDefaults() (Options, error) {
	if o.Driver == "" {
		o.Driver = DriverSQLite
	}
	if o.Driver != DriverSQLite {
		return o, fmt.Errorf("%w %q: use %q", ErrDriver, o.Driver, DriverSQLite)
	}
	if o.Path == "" {
		return o, errors.New("store path is empty: name a database file")
	}
	abs, err := filepath.Abs(o.Path)
	if err != nil {
		return o, fmt.Errorf("store path: %w", err)
	}
	o.Path = abs
	if o.MaxBatch < 0 || o.MaxBatch > maxMaxBatch {
		return o, fmt.Errorf("store batch of %d: use 1 to %d, or 0 for the default", o.MaxBatch, maxMaxBatch)
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = defaultMaxBatch
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	return o, nil
}

// hooks are replaced as a whole, so the writer reads them without a lock.
type hooks struct {
	seal     []func(*Tx) error
	commit   []func()
	rollback []func()
}

// Store is an open database with its writer. Its methods are safe for
// concurrent use. The zero value is of no use; call Open.
type Store struct {
	opts   Options
	reader *Reader
	lock   *fileLock

	in      chan *request
	closing chan struct{}
	stopped chan struct{}
	once    sync.Once
	closeMu sync.Mutex
	closed  bool

	mu     sync.Mutex // guards changes of hooks, and claims
	hooks  atomic.Pointer[hooks]
	claims map[string]bool
	movers []Mover
	file   atomic.Pointer[File] // that is written to

	moving sync.Mutex // held while another file is made
	older  sync.Mutex // held while older files are written to
	clean  map[int]bool

	// Of whichever goroutine does the writer's work, one at a time.
	w     writer
	whole bool // that work has ended as it should
	lend  chan loan
}

// Open opens or creates the database and starts its writer. The error is ErrLocked
// when another process, or another Store, writes to the file. ErrDriver: the
// driver is unknown. ErrNewer: the file is of a newer version. The lock is an
// advisory one on Path + ".lock", which stays behind after Close.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := CheckFolder(opts.Path); err != nil {
		return nil, err
	}
	lock, err := lockFile(opts.Path + ".lock")
	if err != nil {
		return nil, err
	}
	s := &Store{
		opts: opts, lock: lock,
		in:      make(chan *request, opts.MaxBatch),
		lend:    make(chan loan),
		closing: make(chan struct{}), stopped: make(chan struct{}),
		claims: map[string]bool{},
	}
	s.hooks.Store(&hooks{})
	if err := s.startWriter(ctx); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return s, nil
}

// CheckFolder returns an error where a database's folder isn't there. Open does so too: a lock file would be
// what is missing then. Call it first where something else may be made in that folder before, such as keys.
func CheckFolder(path string) error {
	folder := filepath.Dir(path)
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s of the database is not there: make it, or name another path for the database (ledger.path): %w",
			folder, fs.ErrNotExist)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s, where the database is to be, is no folder: name another path for the database (ledger.path)", folder)
	}
	return nil // what else is wrong the lock file says
}

// startWriter opens both connections and starts the writer's goroutine.
func (s *Store) startWriter(ctx context.Context) error {
	if err := removeUnfinished(s.opts.Path); err != nil {
		return err
	}
	file, err := FindNewest(s.opts.Path)
	if errors.Is(err, ErrNoFile) {
		file, err = File{1, s.opts.Path}, nil
	}
	if err != nil {
		return err
	}
	s.file.Store(&file)
	if err := prepareFile(file.Path); err != nil {
		return err
	}
	conn, err := openConnection(ctx, file.Path, s.opts.BusyTimeout)
	if err != nil {
		return fmt.Errorf("open database %s: %w", file.Path, err)
	}
	s.w.conn = conn
	if s.reader, err = OpenReader(ctx, s.opts.Path); err != nil {
		return errors.Join(err, conn.close())
	}
	if err := s.reader.checkInUse(ctx); err != nil {
		return errors.Join(err, s.reader.Close(), conn.close())
	}
	go s.runOwnLoop()
	if err := s.Migrate(ctx, "spent", spentSchema); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// prepareFile creates the file with narrow permissions before SQLite would create
// it with wide ones. SQLite gives -wal and -shm the same mode. A file that exists
// is not opened, which would drop the locks of this process on it.
func prepareFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("create database: %w", err)
		}
		return f.Close()
	}
	if err != nil {
		return fmt.Errorf("database file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("database %s is not a regular file", path)
	}
	if runtime.GOOS == "windows" {
		return nil // no permission bits there
	}
	for _, p := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(p, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("narrow permissions: %w", err)
		}
	}
	return nil
}

// Close stops the writer after the group it is working on, and closes the
// database. Submissions still waiting get ErrClosed. It is safe to call twice.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closing) })
	<-s.stopped
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	// Readers go first, so that the writer is the last one out and can fold
	// the write-ahead log into the file.
	err := s.reader.Close()
	if s.w.conn != nil {
		err = errors.Join(err, s.w.conn.close())
	}
	return errors.Join(err, s.lock.release())
}

// Path is the absolute path that the store was opened by: that of its first file.
func (s *Store) Path() string { return s.opts.Path }

// File is the file that is written to.
func (s *Store) File() File { return *s.file.Load() }

// Reader reads beside the writer. It belongs to the store; do not close it.
func (s *Store) Reader() *Reader { return s.reader }

// OnSeal registers f to run once in each group, after its submissions and
// before COMMIT, in the writer's goroutine. An error fails the whole group.
func (s *Store) OnSeal(f func(tx *Tx) error) {
	s.registerHook(func(h *hooks) { h.seal = append(h.seal, f) })
}

// OnCommit registers f to run after a group is durable and before its members
// are told, in the writer's goroutine.
func (s *Store) OnCommit(f func()) {
	s.registerHook(func(h *hooks) { h.commit = append(h.commit, f) })
}

// OnRollback registers f to run when a whole group was rolled back, in the
// writer's goroutine. f runs before the group's members are told. See also
// Tx.OnUndo.
func (s *Store) OnRollback(f func()) {
	s.registerHook(func(h *hooks) { h.rollback = append(h.rollback, f) })
}

func (s *Store) registerHook(add func(*hooks)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.hooks.Load()
	next := &hooks{
		seal:     append([]func(*Tx) error(nil), old.seal...),
		commit:   append([]func(){}, old.commit...),
		rollback: append([]func(){}, old.rollback...),
	}
	add(next)
	s.hooks.Store(next)
}

// OnMove registers a Mover.
func (s *Store) OnMove(m Mover) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.movers = append(slices.Clip(s.movers), m)
}

// listMovers returns the Movers that are registered by now.
func (s *Store) listMovers() []Mover {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.movers
}

// Succeed has another file go on in place of the one that is written to, which stays as an archive. What lives is
// copied by the Movers and the Store; Submit waits for the last part of that. A process that is killed at any
// moment goes on with the one file or with the other: the next one counts from when it has its name, and is whole
// by then. onStep is told of each step before it; nil for none. After an error the old file goes on.
//
// What stays in the old file beside the tables that are kept is removed by CleanOlder.
func (s *Store) Succeed(ctx context.Context, onStep func(step string)) (File, error) {
	return succession{s}.run(ctx, onStep)
}

// WriteOlder runs fn in a transaction of an older file of the store, which is durable when it returns nil.
func (s *Store) WriteOlder(ctx context.Context, file File, fn func(tx *Tx) error) (err error) {
	s.older.Lock()
	defer s.older.Unlock()
	return olderFiles{s}.writeFile(ctx, file, func(m *Move) error {
		if err := m.Do(fn); err != nil {
			return err
		}
		_, _ = m.c.checkpoint(s.opts.BusyTimeout) // the file alone has all then; where readers hold it, later
		return nil
	})
}

// CleanOlder removes from older files what has moved on: all tables but those that stay there. Nothing of it is left
// in their pages or logs when it returns nil. It costs nothing where that was done before. ErrBusy: readers hold an
// older file.
func (s *Store) CleanOlder(ctx context.Context) error { return olderFiles{s}.cleanAll(ctx) }

// Claim reserves name for one user of the store, for as long as the store is
// open. A package that keeps state in memory about its tables claims its name,
// so that two of it cannot disagree. The second claim gets ErrClaimed.
func (s *Store) Claim(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claims[name] {
		return fmt.Errorf("%s: %w", name, ErrClaimed)
	}
	s.claims[name] = true
	return nil
}

// Unclaim gives a name back. A package calls it when it failed to open, so that
// opening it can be tried again. Never call it while the name is in use.
func (s *Store) Unclaim(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.claims, name)
}

// Migrate brings the tables of one user of the store up to date. steps[i] is the
// script (one or more statements) that leads from version i to i+1. Steps that a
// file has been through are not run again: never edit or reorder them, only add to
// them. All missing steps are one transaction. ErrNewer: the file has been through
// more steps than this program knows.
func (s *Store) Migrate(ctx context.Context, name string, steps []string) error {
	if name == "" {
		return fmt.Errorf("migrate needs a name for the tables")
	}
	return s.Submit(ctx, func(tx *Tx) error {
		if _, err := tx.Exec(sqlMigrations); err != nil {
			return fmt.Errorf("migrate %s: %w", name, err)
		}
		version := 0
		if _, err := tx.QueryRow([]any{&version}, sqlGetVersion, name); err != nil {
			return fmt.Errorf("migrate %s: %w", name, err)
		}
		if version > len(steps) {
			return fmt.Errorf("%w: %s is at version %d, this program knows %d: use the newer program", ErrNewer, name, version, len(steps))
		}
		if version == len(steps) {
			return nil
		}
		for i, step := range steps[version:] {
			if err := tx.conn.runScript(step); err != nil {
				return fmt.Errorf("migrate %s to version %d: %w", name, version+i+1, tx.noteFatal(err))
			}
		}
		_, err := tx.Exec(sqlSetVersion, name, len(steps))
		return err
	})
}

const (
	sqlMigrations = `CREATE TABLE IF NOT EXISTS store_migrations (
	name    TEXT PRIMARY KEY NOT NULL,
	version INTEGER NOT NULL
) STRICT, WITHOUT ROWID`
	sqlGetVersion = `SELECT version FROM store_migrations WHERE name = ?`
	sqlSetVersion = `INSERT INTO store_migrations (name, version) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET version = excluded.version`
)
