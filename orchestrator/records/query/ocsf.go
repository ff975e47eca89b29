package query

import (
	"bufio"
	"encoding/json"
	"fmt"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// What every event says of its class: API Activity of the category Application Activity, with the
// profile Security Control.
const (
	ocsfVersion  = "1.3.0"
	ocsfCategory = 6
	ocsfClass    = 6003
)

// ocsfEvent is a record as the Open Cybersecurity Schema Framework has it.
type ocsfEvent struct {
	ActivityID    int              `json:"activity_id"`
	CategoryUID   int              `json:"category_uid"`
	CategoryName  string           `json:"category_name"`
	ClassUID      int              `json:"class_uid"`
	ClassName     string           `json:"class_name"`
	TypeUID       int              `json:"type_uid"`
	Time          int64            `json:"time"`
	SeverityID    int              `json:"severity_id"`
	StatusID      int              `json:"status_id"`
	StatusCode    string           `json:"status_code,omitempty"`
	StatusDetail  string           `json:"status_detail,omitempty"`
	Duration      int64            `json:"duration,omitempty"`
	ActionID      *int             `json:"action_id,omitempty"`
	DispositionID *int             `json:"disposition_id,omitempty"`
	Policy        *ocsfPolicy      `json:"policy,omitempty"`
	Metadata      ocsfMetadata     `json:"metadata"`
	Actor         ocsfActor        `json:"actor"`
	API           ocsfAPI          `json:"api"`
	SrcEndpoint   ocsfEndpoint     `json:"src_endpoint"`
	Unmapped      *json.RawMessage `json:"unmapped,omitempty"`
}

type ocsfPolicy struct {
	UID string `json:"uid"`
}

type ocsfMetadata struct {
	Version  string      `json:"version"`
	UID      string      `json:"uid"`
	Sequence int64       `json:"sequence"`
	LogName  string      `json:"log_name"`
	Code     string      `json:"event_code"`
	Profiles []string    `json:"profiles"`
	Product  ocsfProduct `json:"product"`
}

type ocsfProduct struct {
	Name       string `json:"name"`
	VendorName string `json:"vendor_name"`
}

type ocsfActor struct {
	User    *ocsfNamed `json:"user,omitempty"`
	Session *ocsfNamed `json:"session,omitempty"`
	AppName string     `json:"app_name,omitempty"`
}

type ocsfNamed struct {
	UID string `json:"uid"`
}

type ocsfAPI struct {
	Operation string       `json:"operation"`
	Request   *ocsfNamed   `json:"request,omitempty"`
	Service   ocsfEndpoint `json:"service"`
}

type ocsfEndpoint struct {
	Name string `json:"name"`
}

// The identifiers of activities, of severities, of statuses, and of what a control did.
const (
	ocsfOther, ocsfCreate, ocsfRead, ocsfUpdate = 99, 1, 2, 3

	ocsfInformational, ocsfLow, ocsfMedium = 1, 2, 3

	ocsfUnknown, ocsfSuccess, ocsfFailure = 0, 1, 2

	ocsfAllowed, ocsfDenied = 1, 2 // actions; as dispositions Allowed and Blocked
	ocsfDelayed             = 14
)

// newOCSFEvent maps a record.
func newOCSFEvent(r *ledger.Record) ocsfEvent {
	b := openBody(r)
	e := ocsfEvent{
		ActivityID: ocsfActivity(b.Effect), CategoryUID: ocsfCategory, CategoryName: "Application Activity", ClassUID: ocsfClass,
		ClassName: "API Activity", Time: r.Time.UnixMilli(), SeverityID: ocsfInformational, StatusID: ocsfSuccess, StatusCode: r.Code,
		StatusDetail: b.Reason,
		Metadata: ocsfMetadata{Version: ocsfVersion, UID: r.ID, Sequence: r.Index, LogName: "ledger", Code: r.Kind,
			Profiles: []string{"security_control"}, Product: ocsfProduct{"Vedette", "Vedette"}},
		Actor: ocsfActor{AppName: r.Agent}, API: ocsfAPI{Operation: r.Skill, Service: ocsfEndpoint{"vedette"}},
		SrcEndpoint: ocsfEndpoint{r.Agent},
	}
	e.TypeUID = e.ClassUID*100 + e.ActivityID
	if b.ElapsedUS != nil {
		e.Duration = *b.ElapsedUS / 1000
	}
	e.Actor.User, e.Actor.Session, e.API.Request = nameOCSF(r.User), nameOCSF(r.Conversation), nameOCSF(r.Call)
	if b.Policy != "" {
		e.Policy = &ocsfPolicy{b.Policy}
	}
	e.judge(r, b)
	if len(r.Body) > 0 {
		e.Unmapped = &r.Body
	}
	return e
}

func nameOCSF(id string) *ocsfNamed {
	if id == "" {
		return nil
	}
	return &ocsfNamed{id}
}

// judge says what became of the call.
func (e *ocsfEvent) judge(r *ledger.Record, b *recordBody) {
	did := func(action, disposition int) { e.ActionID, e.DispositionID = &action, &disposition }
	if r.Kind == sentinel.RecordShadow { // it went through, whatever would have been decided
		did(ocsfAllowed, ocsfAllowed)
		return
	}
	switch r.Outcome {
	case sentinel.Allow.String():
		did(ocsfAllowed, ocsfAllowed)
		if b.Degraded {
			e.SeverityID = ocsfLow
		}
	case sentinel.Deny.String():
		did(ocsfDenied, ocsfDenied)
		e.StatusID, e.SeverityID = ocsfFailure, ocsfMedium
	case sentinel.Ask.String(), sentinel.Defer.String():
		did(ocsfUnknown, ocsfDelayed)
		e.StatusID, e.SeverityID = ocsfUnknown, ocsfLow
	case sentinel.StatusFailed:
		e.StatusID, e.SeverityID = ocsfFailure, ocsfLow
	case sentinel.StatusUnknown:
		e.StatusID, e.SeverityID = ocsfUnknown, ocsfMedium
	case sentinel.StatusForwarded:
		e.StatusID = ocsfUnknown
	}
}

// ocsfActivity is what a skill's effect comes to.
func ocsfActivity(effect string) int {
	switch skills.Effect(effect) {
	case skills.Read:
		return ocsfRead
	case skills.Create:
		return ocsfCreate
	case skills.Modify:
		return ocsfUpdate
	case skills.Irreversible, skills.CostsMoney:
	}
	return ocsfOther
}

// ocsfWriter is the Writer of FormatOCSF.
type ocsfWriter struct{ w *bufio.Writer }

func (o *ocsfWriter) Write(r *ledger.Record) error {
	line, err := json.Marshal(newOCSFEvent(r))
	if err != nil {
		return fmt.Errorf("record %s can't be written as JSON: %w", r.ID, err)
	}
	return terminal.WriteLine(o.w, terminal.CleanJSON(line))
}

func (o *ocsfWriter) Flush() error { return o.w.Flush() }
