package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// identitySchema holds which key of an agent is in force; an agent that has no row has its first.
var identitySchema = []string{`CREATE TABLE agent_keys (
	agent      TEXT PRIMARY KEY NOT NULL,
	generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID`}

// maxIdentities is how many keys of agents are kept in memory.
const maxIdentities = 1000

// Identities signs the records of agents, each with a key of its own that the ledger's key certifies. The keys are derived
// from one secret outside of the database. It is safe for concurrent use.
//
// The process runs its agents and holds their keys: a signature says which agent the process decided for. It finds who
// writes another agent's name into a record later, and without the secret none can make one.
type Identities struct {
	st     *store.Store
	ledger *Ledger
	secret [32]byte

	mu   sync.Mutex
	keys map[string]*AgentKey
}

// NewIdentities makes the table of keys in st where it is missing. l is the ledger of st.
func NewIdentities(ctx context.Context, st *store.Store, l *Ledger, secret [32]byte) (*Identities, error) {
	if err := st.Migrate(ctx, "agent_keys", identitySchema); err != nil {
		return nil, err
	}
	return &Identities{st: st, ledger: l, secret: secret, keys: map[string]*AgentKey{}}, nil
}

// Sign signs an entry for its agent with SignAs. An entry of none stays as it is, and a nil i signs none.
func (i *Identities) Sign(ctx context.Context, e *Entry) error {
	if i == nil || e.Agent == "" {
		return nil
	}
	k, err := i.key(ctx, e.Agent)
	if err != nil {
		return err
	}
	return i.ledger.SignAs(k, e)
}

// key returns the key of an agent that is in force.
func (i *Identities) key(ctx context.Context, agent string) (*AgentKey, error) {
	i.mu.Lock()
	k := i.keys[agent]
	i.mu.Unlock()
	if k != nil {
		return k, nil
	}
	generation, err := i.readGeneration(ctx, agent)
	if err != nil {
		return nil, err
	}
	if k, err = NewAgentKey(agent, i.secret, generation); err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.keys) >= maxIdentities {
		clear(i.keys)
	}
	i.keys[agent] = k
	return k, nil
}

func (i *Identities) readGeneration(ctx context.Context, agent string) (n int64, err error) {
	err = i.st.Reader().QueryRow(ctx, `SELECT generation FROM agent_keys WHERE agent = ?`, agent).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the key of agent %q: %w", agent, err)
	}
	return n, nil
}

// RotatedAgent is what a rotation of an agent's key came to: the public keys.
type RotatedAgent struct {
	Agent string `json:"agent"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

// Rotate has another key sign for an agent from now on, on record. by names who did it.
func (i *Identities) Rotate(ctx context.Context, agent, by string) (RotatedAgent, error) {
	generation, err := i.readGeneration(ctx, agent)
	if err != nil {
		return RotatedAgent{}, err
	}
	from, err := NewAgentKey(agent, i.secret, generation)
	if err != nil {
		return RotatedAgent{}, err
	}
	to, err := NewAgentKey(agent, i.secret, generation+1)
	if err != nil {
		return RotatedAgent{}, err
	}
	err = i.st.Submit(ctx, func(tx *store.Tx) error {
		if err := i.ledger.RotateAgentKeyTx(tx, from, to, by); err != nil {
			return err
		}
		_, err := tx.Exec(`INSERT INTO agent_keys (agent, generation) VALUES (?, ?)
ON CONFLICT (agent) DO UPDATE SET generation = excluded.generation`, agent, generation+1)
		return err
	})
	if err != nil {
		return RotatedAgent{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.keys, agent)
	return RotatedAgent{agent, from.PublicKey(), to.PublicKey()}, nil
}
