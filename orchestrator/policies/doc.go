// Package policies keeps what the digests of policies stand for, as it was when they came in force.
//
//	err := policies.Prepare(ctx, st)
//	err = st.Submit(ctx, func(tx *store.Tx) error {
//		return policies.KeepTx(tx, policies.InForce{Text: cfg.PolicyText(), Prompts: prompts, Program: version, At: now})
//	})
//	p, err := policies.Find(ctx, st.Reader(), "3f0a9c")
//	err = p.Verify() // every byte of p.Text is under the digest, which stands in each decision's record
//
// The package isn't stable: docs/api.md lists those that are.
//
// What is kept holds no secrets and no values of users. The policy's digest covers the text that is
// kept, so a row that was changed is found. The built-in prompt is known by its version, which stands
// in the record of every call that a model reviewed, and by a digest of its own.
//
// What not to do: don't take a policy for true whose Verify returns an error; don't decide anything by
// what is kept, which is for people who look back.
package policies
