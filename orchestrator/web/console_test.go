package web_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// hearConsole returns what the browser complains of from now on: errors of scripts, and what a
// Content-Security-Policy refused.
func hearConsole(ctx context.Context, t *testing.T) func() []string {
	t.Helper()
	var mu sync.Mutex
	var heard []string
	err := chromedp.Listen(ctx, func(e any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			heard = append(heard, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if !strings.HasSuffix(e.Entry.URL, "/favicon.ico") {
				heard = append(heard, fmt.Sprint(e.Entry.Level, " ", e.Entry.Text, " ", e.Entry.URL))
			}
		}
	})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), heard...)
	}
}

// setScheme makes the browser prefer light or dark.
func setScheme(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		p := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
		_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, p)
		return err
	})
}

// containsRan reports whether the page says that the call ran.
func containsRan(text string) bool { return strings.Contains(text, "It ran at") }

// hasFocus waits until an element has the focus.
func hasFocus(id string) chromedp.Action[chromedp.Void] {
	return awaitTrue(fmt.Sprintf("document.activeElement !== null && document.activeElement.id === %q", id))
}

// isThere waits until an element is there.
func isThere(selector string) chromedp.Action[chromedp.Void] {
	return awaitTrue(fmt.Sprintf("document.querySelector(%q) !== null", selector))
}

// awaitTrue waits until an expression is true.
func awaitTrue(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		if _, err := chromedp.Poll[bool](expression)(ctx, to); err != nil {
			return fmt.Errorf("wait for %s: %w", expression, err)
		}
		return nil
	})
}
