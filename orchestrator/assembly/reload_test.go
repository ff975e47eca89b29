package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/skills"
)

// office is a house whose configuration is changed while it runs.
type office struct {
	*assembly.Parts
	t    *testing.T
	file string
	mail string // what the skills' file says
}

const officeHead = "version: 1\nskills: {include: [\"skills.yaml\"]}\nsentinel: {mode: \"off\"}\njudge: {threshold: 0, ask_below: 0}\n" +
	"limits: {agent: {calls: 1000}, turn: {calls: 1000}, conversation: {calls: 1000}}\n"

func openOffice(t *testing.T, settings string) *office {
	t.Helper()
	o := &office{t: t, file: filepath.Join(t.TempDir(), "vedette.yaml"), mail: skillsYAML}
	o.Parts = func() *assembly.Parts {
		p, err := assembly.Build(t.Context(), o.read(settings), assembly.Options{})
		require.NoError(t, err)
		return p
	}()
	t.Cleanup(func() { require.NoError(t, o.Close()) })
	return o
}

// read writes the files and reads them.
func (o *office) read(settings string) *config.Config {
	o.t.Helper()
	require.NoError(o.t, os.WriteFile(filepath.Join(filepath.Dir(o.file), "skills.yaml"), []byte(o.mail), 0o600))
	require.NoError(o.t, os.WriteFile(o.file, []byte(officeHead+settings), 0o600))
	cfg, err := config.Load(o.file, config.Options{})
	require.NoError(o.t, err)
	return cfg
}

// change puts settings in force, or says why not.
func (o *office) change(settings string) (assembly.Reload, error) {
	o.t.Helper()
	return o.Reload(o.t.Context(), o.read(settings), "file")
}

// call makes one call, and returns the code that it was refused with.
func (o *office) call(skill, args string) string {
	o.t.Helper()
	_, err := o.Checkpoint.Desk(grant(o.t, "do it", "fs.read", "fs.change", "shell.exec")).Invoke(o.t.Context(), skill, json.RawMessage(args))
	var no *skills.Refusal
	if errors.As(err, &no) {
		return no.Code
	}
	require.NoError(o.t, err)
	return ""
}

// policies are the digests in the records of decisions, in order.
func (o *office) policies() (out []string) {
	o.t.Helper()
	list, err := o.Ledger.List(o.t.Context(), ledger.Query{Kind: sentinel.RecordDecision})
	require.NoError(o.t, err)
	for _, r := range list {
		var b struct {
			Policy string `json:"policy"`
		}
		require.NoError(o.t, json.Unmarshal(r.Body, &b))
		out = append(out, b.Policy)
	}
	return out
}

// What tightens counts for the next decision: rules, forbidden paths, skills that are gone. Each record has
// the digest of what it was judged by, and the reload is on record with both.
func TestReloadTightens(t *testing.T) {
	o := openOffice(t, "")
	at := filepath.Join(filepath.Dir(o.file), "workspace", "a.txt")
	read := `{"path":"` + at + `"}`
	require.Empty(t, o.call("fs.read", read))
	first := o.Running().Digest()

	done, err := o.change("permissions:\n  - {skill: fs.read, then: deny}\n")
	require.NoError(t, err)
	require.Equal(t, first, done.Old)
	require.Equal(t, o.Running().Digest(), done.New)
	require.Equal(t, done.New, o.Checkpoint.PolicyDigest())
	require.Equal(t, "permission.denied", o.call("fs.read", read))
	require.Equal(t, []string{first, done.New}, o.policies())

	_, err = o.change("permissions:\n  - {skill: fs.read, then: deny}\nguard: {forbid_paths: ['**/*.txt']}\n")
	require.NoError(t, err)
	require.Equal(t, guard.CodeForbidden, o.call("fs.change", read))

	o.mail = strings.Split(skillsYAML, "  - name: fs.change")[0]
	_, err = o.change("permissions:\n  - {skill: fs.read, then: deny}\nguard: {forbid_paths: ['**/*.txt']}\n")
	require.NoError(t, err)
	require.Equal(t, scope.CodeWithdrawn, o.call("fs.change", `{"path":"x"}`))
	require.Equal(t, scope.CodeWithdrawn, o.call("shell.exec", `{"command":"ls"}`))
	sc, err := skills.NewScope("fs.*", "shell.exec")
	require.NoError(t, err)
	require.Equal(t, []string{"fs.read"}, o.LeaveOutWithdrawn(sc).List())

	list, err := o.Ledger.List(t.Context(), ledger.Query{Kind: sentinel.RecordReloaded})
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.JSONEq(t, `{"v":1,"by":"file","old":"`+first+`","new":"`+done.New+`","changes":{"tightens":1},"changed":["permissions[0]"]}`,
		string(list[0].Body))
}

// What says the same changes nothing and leaves no record; a prompt leaves one and keeps the digest.
func TestReloadOfTheSame(t *testing.T) {
	o := openOffice(t, "")
	done, err := o.change("# the same\n")
	require.NoError(t, err)
	require.Empty(t, done.Changes)
	list, err := o.Ledger.List(t.Context(), ledger.Query{Kind: sentinel.RecordReloaded})
	require.NoError(t, err)
	require.Empty(t, list)
	done, err = o.change("orchestrator: {prompt: be brief}\n")
	require.NoError(t, err)
	require.Equal(t, done.Old, done.New)
	require.Equal(t, "be brief", o.Running().Orchestrator.Prompt)
	require.Empty(t, o.Config.Orchestrator.Prompt)
}

// What lets more through is refused and names its place, unless the running configuration allows it. What
// no running process exchanges needs a restart in any case. Nothing of a refused one is taken up.
func TestReloadRefusesLoosening(t *testing.T) {
	const rule = "permissions:\n  - {skill: fs.read, then: deny}\n"
	o := openOffice(t, rule)
	for _, settings := range []string{
		"permissions:\n  - {skill: fs.change, then: deny}\n", "reload: {allow_loosening: true}\n", rule + "reload: {allow_loosening: true}\n",
	} {
		_, err := o.change(settings)
		var no *assembly.RefusedReload
		require.ErrorAs(t, err, &no)
		require.NotEmpty(t, no.Loosening)
		require.Empty(t, no.Restart)
		require.Equal(t, "permission.denied", o.call("fs.read", `{"path":"x"}`))
		require.Empty(t, o.call("fs.change", `{"path":"x"}`), "nothing of it is in force")
	}
	_, err := o.change("")
	require.ErrorContains(t, err, o.file+":7:5: permissions[0] (deny rule-1) of the running configuration is gone")
	_, err = o.change(rule + "server: {listen: '127.0.0.1:1'}\n")
	require.ErrorContains(t, err, "needs a restart")
	require.ErrorContains(t, err, o.file+":8:")
	require.ErrorContains(t, err, "server.listen can't be exchanged in a running process")
	list, err := o.Ledger.List(t.Context(), ledger.Query{Kind: sentinel.RecordReloadRefused})
	require.NoError(t, err)
	require.Len(t, list, 5)

	free := openOffice(t, rule+"reload: {allow_loosening: true}\n")
	_, err = free.change("reload: {allow_loosening: true}\n")
	require.NoError(t, err)
	require.Empty(t, free.call("fs.read", `{"path":"x"}`))
	free.mail = strings.Split(skillsYAML, "  - name: fs.change")[0]
	_, err = free.change("reload: {allow_loosening: true}\n")
	require.NoError(t, err)
	require.Equal(t, scope.CodeWithdrawn, free.call("fs.change", `{"path":"x"}`))
	free.mail = skillsYAML
	_, err = free.change("reload: {allow_loosening: true}\n")
	require.NoError(t, err, "what the process was built with comes back")
	require.Empty(t, free.call("fs.change", `{"path":"x"}`))
	free.mail += "  - {name: a.new, effect: read, parameters: {type: object}, run: {template: x}}\n"
	_, err = free.change("reload: {allow_loosening: true}\n")
	require.ErrorContains(t, err, "skills[a.new] has nothing that runs it in this process")
	free.mail = skillsYAML
	_, err = free.change("")
	require.NoError(t, err)
	_, err = free.change("reload: {allow_loosening: true}\n")
	require.Error(t, err, "it was turned off")
}

// A file that no program was kept from writing isn't taken up, though its skills are the same.
func TestReloadRefusesUnprotectedFiles(t *testing.T) {
	o := openOffice(t, "")
	dir := filepath.Dir(o.file)
	require.NoError(t, os.Rename(filepath.Join(dir, "skills.yaml"), filepath.Join(dir, "other.yaml")))
	text := strings.Replace(officeHead, "skills.yaml", "other.yaml", 1)
	require.NoError(t, os.WriteFile(o.file, []byte(text), 0o600))
	cfg, err := config.Load(o.file, config.Options{})
	require.NoError(t, err)
	_, err = o.Reload(t.Context(), cfg, "file")
	require.ErrorContains(t, err, "other.yaml: skills.include reads a file that this process doesn't keep programs from writing")
}

// A rule that can't be compiled is found before anything is exchanged, with its place.
func TestReloadFindsMistakesOfGates(t *testing.T) {
	o := openOffice(t, "")
	_, err := o.change("permissions:\n  - {skill: fs.read, then: deny, when: 'args.path +'}\n")
	require.ErrorContains(t, err, o.file+":7:")
	require.Empty(t, o.call("fs.read", `{"path":"x"}`))
}

// A reload that can't be written down doesn't happen: so is one whose process is killed within it.
func TestReloadThatIsNotOnRecord(t *testing.T) {
	o := openOffice(t, "")
	before := o.Checkpoint.PolicyDigest()
	require.NoError(t, o.Store.Close())
	_, err := o.change("permissions:\n  - {skill: fs.read, then: deny}\n")
	require.ErrorContains(t, err, "the reload can't be written down")
	require.Equal(t, before, o.Checkpoint.PolicyDigest())
	require.Equal(t, before, o.Running().Digest())
}

// reload puts other settings of a bureau in force.
func (b *bureau) reload(settings string) error {
	b.t.Helper()
	file := filepath.Join(b.dir, "vedette.yaml")
	if !strings.Contains(settings, "judge:") {
		settings += "judge: {threshold: 0, ask_below: 0}\n"
	}
	require.NoError(b.t, os.WriteFile(file, []byte(bureauHead+settings), 0o600))
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{"paper.send"}})
	require.NoError(b.t, err)
	_, err = b.Reload(b.t.Context(), cfg, "file")
	return err
}

// A call waits for a person while its rules are tightened: the person says yes, the new rules deny, and
// the record has the new digest.
func TestReloadMeetsHeldCalls(t *testing.T) {
	b := openBureau(t, bureauAsks+bureauInbox)
	got, leave := b.invoke(false)
	defer leave()
	before := b.Checkpoint.PolicyDigest()
	require.NoError(t, b.reload("permissions: [{skill: \"paper.send\", then: ask}, {skill: \"paper.send\", then: deny}]\n"+bureauInbox))
	i := b.pending()[0]
	_, err := b.Inbox.Answer(t.Context(), approval.Answer{Approval: i.ID, Word: approval.Yes, By: "cat", Via: "test", Digest: i.Digest})
	require.NoError(t, err)
	var no *skills.Refusal
	require.ErrorAs(t, (<-got).err, &no)
	require.Equal(t, "permission.denied", no.Code)
	require.Zero(t, b.runs())
	for kind, want := range map[string]string{sentinel.RecordHeld: before, sentinel.RecordDecision: b.Checkpoint.PolicyDigest()} {
		list, err := b.Ledger.List(t.Context(), ledger.Query{Kind: kind})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Contains(t, string(list[0].Body), `"policy":"`+want+`"`)
	}
}

// Who may answer is exchanged under a call that waits: its answers are counted again by the new rules, those who may
// answer no more count no more, and a call that no person can approve by now is refused.
func TestReloadOfWhoMayAnswer(t *testing.T) {
	who := func(rules string) string {
		return bureauAsks + "reload: {allow_loosening: true}\napprovals: {timeout: 10m, inbox: true, who: [" + rules + "]}\n"
	}
	for name, tc := range map[string]struct {
		before, after string
		says          []string // who says yes before, and after
		late          string
		code          string // empty: the call runs
	}{
		"fewer suffice":         {"{min: 2}", "{min: 1}", []string{"cat"}, "", ""},
		"more are needed":       {"{min: 1, users: [ann]}", "{min: 2, users: [ann]}", nil, "dan eve", ""},
		"a yes counts no more":  {"{min: 2}", "{min: 2, approvers: [dan, eve]}", []string{"cat"}, "dan eve", ""},
		"the same, as a person": {"{min: 2}", "{min: 2, approvers: [cat, eve]}", []string{"cat"}, "eve", ""},
		"none may":              {"{min: 1}", "{approvers: [ann], exclude_requester: true}", nil, "", sentinel.CodeApprovalNobody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBureau(t, who(tc.before))
			got, leave := b.invoke(false)
			defer leave()
			answer := func(by string) error {
				i := b.list(approval.Filter{All: true})[0]
				_, err := b.Inbox.Answer(t.Context(), approval.Answer{Approval: i.ID, Word: approval.Yes, By: by, Via: "test", Digest: i.Digest})
				return err
			}
			for _, by := range tc.says {
				require.NoError(t, answer(by))
			}
			require.Zero(t, b.runs())
			require.NoError(t, b.reload(who(tc.after)))
			for _, by := range strings.Fields(tc.late) {
				require.Zero(t, b.runs(), "before %s", by)
				require.NoError(t, answer(by))
			}
			var end invoked
			select {
			case end = <-got:
			case <-time.After(time.Minute):
				require.FailNow(t, "the call still waits")
			}
			if tc.code == "" {
				require.NoError(t, end.err)
				require.Equal(t, 1, b.runs())
				return
			}
			var no *skills.Refusal
			require.ErrorAs(t, end.err, &no)
			require.Equal(t, tc.code, no.Code)
			require.Zero(t, b.runs())
		})
	}
}

// Fewer calls hold at once, also for an agent and a turn under way. Without reload.allow_loosening more don't.
func TestReloadOfLimits(t *testing.T) {
	settings := func(calls string) string {
		return strings.Replace(officeHead, "agent: {calls: 1000}", "agent: {calls: "+calls+"}", 1)
	}
	o := &office{t: t, file: filepath.Join(t.TempDir(), "vedette.yaml"), mail: skillsYAML}
	load := func(calls string) *config.Config {
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(o.file), "skills.yaml"), []byte(skillsYAML), 0o600))
		require.NoError(t, os.WriteFile(o.file, []byte(settings(calls)), 0o600))
		cfg, err := config.Load(o.file, config.Options{})
		require.NoError(t, err)
		return cfg
	}
	p, err := assembly.Build(t.Context(), load("3"), assembly.Options{})
	require.NoError(t, err)
	o.Parts = p
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	desk := p.Checkpoint.Desk(grant(t, "do it", "fs.read"))
	read := json.RawMessage(`{"path":"` + filepath.Join(filepath.Dir(o.file), "workspace", "a.txt") + `"}`)
	for range 2 {
		_, err = desk.Invoke(t.Context(), "fs.read", read)
		require.NoError(t, err)
	}
	_, err = p.Reload(t.Context(), load("2"), "file")
	require.NoError(t, err)
	var no *skills.Refusal
	_, err = desk.Invoke(t.Context(), "fs.read", read)
	require.ErrorAs(t, err, &no)
	require.Equal(t, "limits.agent_calls", no.Code)
	_, err = p.Reload(t.Context(), load("4"), "file")
	var refused *assembly.RefusedReload
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "limits.agent.calls", refused.Loosening[0].Path)
	_, err = desk.Invoke(t.Context(), "fs.read", read)
	require.ErrorAs(t, err, &no)
}

// A standing approval holds under the policy that it was made under: under another a person is asked.
func TestReloadEndsStandingApprovals(t *testing.T) {
	free := "reload: {allow_loosening: true}\n"
	b := openBureau(t, bureauAsks+bureauInbox+free)
	b.stand(5, time.Hour)
	asked, err := b.send(errand{user: "ann", to: "bob", grant: "one"})
	require.NoError(t, err)
	require.False(t, asked)
	rules := "permissions: [{skill: \"paper.send\", then: ask}, {skill: \"paper.send\", users: [eve], then: deny}]\n"
	require.NoError(t, b.reload(rules+bureauInbox+free))
	asked, err = b.send(errand{user: "ann", to: "bob", grant: "two"})
	require.ErrorIs(t, err, sentinel.ErrHeld)
	require.True(t, asked)
}

// Calls, reloads and questions at the same time: each decision on record has the outcome that goes with
// its digest.
func TestReloadRacesWithCalls(t *testing.T) {
	o := openOffice(t, "reload: {allow_loosening: true}\n")
	open, shut := "reload: {allow_loosening: true}\n", "permissions: [{skill: fs.read, then: deny}]\nreload: {allow_loosening: true}\n"
	openCfg, shutCfg := o.read(open), o.read(shut)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				d := o.Checkpoint.Desk(grant(t, "do it", "fs.read"))
				_, _ = d.Invoke(context.Background(), "fs.read", json.RawMessage(`{"path":"x"}`))
			}
		})
	}
	wg.Go(func() {
		for range 10 {
			_, err1 := o.Reload(context.Background(), shutCfg, "file")
			_, err2 := o.Reload(context.Background(), openCfg, "signal")
			if err := errors.Join(err1, err2); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	list, err := o.Ledger.List(t.Context(), ledger.Query{Kind: sentinel.RecordDecision})
	require.NoError(t, err)
	require.Len(t, list, 100)
	for _, r := range list {
		want := "allow"
		if strings.Contains(string(r.Body), shutCfg.Digest()) {
			want = "deny"
		}
		require.Equal(t, want, r.Outcome)
	}
}
