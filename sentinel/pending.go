package sentinel

import "sync"

// CodePendingFull is the code of a call that would be held for a person while as
// many calls as may be are held already. Its refusal's kind is budget.
const CodePendingFull = "approval.pending_full"

// PendingLimits are how many calls may wait for a person in this process at a
// time, calls of before a restart included. Zero means no bound.
type PendingLimits struct {
	User, Conversation, Process int
}

// pendingCount counts the calls that are held, from before the question is recorded
// until the answer is. What holds nothing has no entry.
type pendingCount struct {
	mu            sync.Mutex
	all           int
	users         map[string]int
	conversations map[string]int // by user and conversation
}

// countIn counts a call that is to be held, and returns what counts it off again.
// full says whose bound is reached instead, unless always is set; nothing is
// counted then.
func (l *pendingCount) countIn(g Grant, max PendingLimits, always bool) (leave func(), full string) {
	user, conversation := g.User(), g.User()+"\x00"+g.Conversation()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch over := func(n, most int) bool { return !always && most > 0 && n >= most }; {
	case over(l.conversations[conversation], max.Conversation):
		return nil, "conversation"
	case over(l.users[user], max.User):
		return nil, "user"
	case over(l.all, max.Process):
		return nil, "process"
	}
	if l.users == nil {
		l.users, l.conversations = map[string]int{}, map[string]int{}
	}
	l.all++
	l.users[user]++
	l.conversations[conversation]++
	return sync.OnceFunc(func() { l.countOut(user, conversation) }), ""
}

func (l *pendingCount) countOut(user, conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.users[user]--; l.users[user] == 0 {
		delete(l.users, user)
	}
	if l.conversations[conversation]--; l.conversations[conversation] == 0 {
		delete(l.conversations, conversation)
	}
}

// refusePendingFull is the verdict on a call that no person is asked about, because
// too many questions wait for an answer.
func refusePendingFull(of string) Verdict {
	v := Refuse(CodePendingFull, "the call needs a person's approval, and as many calls of this "+of+
		" as may be wait for one (approvals.pending."+of+")")
	v.Gate = GateApproval
	v.WhatYouCanDo = "Tell the user that other calls wait for an approval; this one can be proposed again once they are answered."
	return v
}
