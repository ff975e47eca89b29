package assembly

import (
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/alerts"
	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/skills"
)

// newAlerts makes the rules under alerts. The error has its places in the file.
func newAlerts(cfg *config.Config) ([]alerts.Rule, error) {
	var out []alerts.Rule
	var mistakes []error
	for i, a := range cfg.Alerts {
		r := alerts.Rule{
			Name: a.Name, Watch: notify.Watch(a.Watch), Count: int64(a.Count), Share: float64(a.Share) / 100, Window: a.Window,
			Query: a.Query, Every: a.Every, Throttle: a.Throttle, Channels: a.Channels,
		}
		if err := r.Check(); err != nil {
			mistakes = append(mistakes, &skills.PathError{Path: fmt.Sprintf("alerts[%d].query", i), Msg: err.Error()})
		}
		out = append(out, r)
	}
	return out, errors.Join(mistakes...)
}

// checkAlerts finds the mistakes under alerts.
func checkAlerts(cfg *config.Config) error {
	_, err := newAlerts(cfg)
	return err
}
